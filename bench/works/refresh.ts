import { Cookies } from '../client/cookies.ts';
import { prepareUsers } from './users.ts';
import { SERVERS } from './work.ts';
import type { Work } from './work.ts';

export const refresh: Work = {
  name: 'refresh',
  about: 'a refresh token is exchanged for an access token and its successor, which is presented next',
  contestants: SERVERS,
  connections: 16,
  prepare: prepareRefresh(),
};

/** @param users - whose tokens each connection presents in turn */
export function prepareRefresh(users = 1): Work['prepare'] {
  return async (client, connections, smoke) => {
    const queues = await prepareUsers(connections, smoke ? 1 : users, async (person) => {
      const tokens = await client.exchange(await client.authorize(new Cookies(), person));
      return tokens.refresh_token;
    });
    return {
      async run(connection) {
        const queue = queues[connection]!;
        queue.push((await client.refresh(queue.shift()!)).refresh_token);
      },
    };
  };
}
