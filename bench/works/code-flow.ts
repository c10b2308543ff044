import { Cookies } from '../client/cookies.ts';
import type { Work } from './work.ts';

export const codeFlow: Work = {
  name: 'code-flow',
  about: 'a new user logs in, consents and gets tokens',
  contestants: [
    'plain',
    'plain-openid',
    'plain-knex',
    'gatehouse',
    'gatehouse-openid',
    'gatehouse-postgresql',
    'floor',
  ],
  connections: 16,
  async prepare(client) {
    let people = 0;
    return {
      async run() {
        people += 1;
        await client.exchange(await client.authorize(new Cookies(), `person-${people}`));
      },
    };
  },
};
