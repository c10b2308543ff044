import { Cookies } from '../client/cookies.ts';
import type { Code } from '../client/oauth-client.ts';
import { SERVERS } from './work.ts';
import type { Work } from './work.ts';

export const codeExchange: Work = {
  name: 'code-exchange',
  about: 'an authorization code is exchanged for an access token and a refresh token',
  contestants: SERVERS,
  connections: 16,
  async prepare(client, connections) {
    const browsers = Array.from({ length: connections }, () => new Cookies());
    const codes: Code[] = [];
    return {
      async supply(count) {
        await Promise.all(
          browsers.map(async (browser, index) => {
            for (let made = 0; made < count / connections; made += 1)
              codes.push(await client.authorize(browser, `person-${index}`));
          }),
        );
      },
      async run() {
        await client.exchange(codes.pop()!);
      },
    };
  },
};
