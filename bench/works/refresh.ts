import { Cookies } from '../client/cookies.ts';
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
    const queues = Array.from({ length: connections }, (): string[] => []);
    for (const [connection, queue] of queues.entries()) {
      while (queue.length < (smoke ? 1 : users)) {
        const code = await client.authorize(
          new Cookies(),
          `person-${connection + queue.length * connections}`,
        );
        queue.push((await client.exchange(code)).refresh_token);
      }
    }
    return {
      async run(connection) {
        const queue = queues[connection]!;
        queue.push((await client.refresh(queue.shift()!)).refresh_token);
      },
    };
  };
}
