import { Cookies } from '../client/cookies.ts';
import { CONTESTANTS } from '../contestants.ts';
import { SERVERS } from './work.ts';
import type { Work } from './work.ts';

export const codeFlow: Work = {
  name: 'code-flow',
  about: 'a new user logs in, consents and gets tokens',
  // A peer takes the login of the user as given.
  contestants: SERVERS.filter((name) => CONTESTANTS[name].peer === undefined),
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
