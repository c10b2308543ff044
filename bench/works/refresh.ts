import { Cookies } from '../client/cookies.ts';
import { SERVERS } from './work.ts';
import type { Work } from './work.ts';

export const refresh: Work = {
  name: 'refresh',
  about: 'a refresh token is exchanged for an access token and its successor, which is presented next',
  contestants: SERVERS,
  connections: 16,
  async prepare(client, connections) {
    const tokens: string[] = [];
    for (let index = 0; index < connections; index += 1) {
      const code = await client.authorize(new Cookies(), `person-${index}`);
      tokens.push((await client.exchange(code)).refresh_token);
    }
    return {
      async run(connection) {
        tokens[connection] = (await client.refresh(tokens[connection]!)).refresh_token;
      },
    };
  },
};
