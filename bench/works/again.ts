import { Cookies } from '../client/cookies.ts';
import { SERVERS } from './work.ts';
import type { Work } from './work.ts';

export const again: Work = {
  name: 'again',
  about: 'an authorization with a session and a consent: a redirect and an exchange',
  contestants: SERVERS,
  connections: 16,
  async prepare(client, connections) {
    const browsers = Array.from({ length: connections }, () => new Cookies());
    for (const [index, browser] of browsers.entries()) await client.authorize(browser, `person-${index}`);
    return {
      async run(connection) {
        const code = await client.authorize(browsers[connection]!, `person-${connection}`);
        await client.exchange(code);
      },
    };
  },
};
