import { Cookies } from '../client/cookies.ts';
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
    const queues = Array.from({ length: connections }, (): { person: string; cookies: Cookies }[] => []);
    for (const [connection, queue] of queues.entries()) {
      while (queue.length < (smoke ? 1 : users)) {
        const browser = {
          person: `person-${connection + queue.length * connections}`,
          cookies: new Cookies(),
        };
        await client.authorize(browser.cookies, browser.person);
        queue.push(browser);
      }
    }
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
