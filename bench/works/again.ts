import { Cookies } from '../client/cookies.ts';
import { prepareUsers } from './users.ts';
import { SERVERS } from './work.ts';
import type { Work } from './work.ts';

export const again: Work = {
  name: 'again',
  about: 'an authorization with a session and a consent: a redirect and an exchange',
  contestants: SERVERS,
  connections: 16,
  prepare: prepareAgain(),
};

/** @param users - whose browsers each connection uses in turn */
export function prepareAgain(users = 1): Work['prepare'] {
  return async (client, connections, smoke) => {
    const queues = await prepareUsers(connections, smoke ? 1 : users, async (person) => {
      const cookies = new Cookies();
      await client.authorize(cookies, person);
      return { cookies, person };
    });
    return {
      async run(connection) {
        const queue = queues[connection]!;
        const browser = queue.shift()!;
        await client.exchange(await client.authorize(browser.cookies, browser.person));
        queue.push(browser);
      },
    };
  };
}
