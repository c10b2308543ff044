import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, startPlatform } from '../harness/platform.ts';
import { startClients } from './clients.ts';
import { asClient } from './families.ts';

const CLIENTS = 4;
const REQUESTS = 100;
const ROUNDS = 3;

const send = startClients(CLIENTS);

// From other processes, because the requests of this one would all be there before the server answers the first.
onEachDatabase(
  `of ${REQUESTS} redemptions of a code that ${CLIENTS} processes send at once, one wins and its tokens live`,
  async (t, _database, address) => {
    await using platform = await startPlatform({ storage: knexStorage(address) });
    const app = await platform.registerApp({ firstParty: true });
    const browser = new Browser();
    const url = `${platform.origin}/oauth/token`;
    for (let round = 0; round < ROUNDS; round += 1) {
      const fields = {
        grant_type: 'authorization_code',
        ...asClient(app),
        redirect_uri: app.redirectUri,
        code: (await authorize(platform, app, { browser })).get('code') ?? '',
      };
      const answers = await send({ url, fields, times: REQUESTS / CLIENTS });
      t.is(answers.length, REQUESTS);
      const [winner, ...more] = answers.filter(({ status }) => status === 200);
      t.deepEqual(more, []);
      for (const { status, body } of answers.filter((answer) => answer !== winner)) {
        t.deepEqual([status, body['error']], [400, 'invalid_grant']);
      }
      const refresh = { grant_type: 'refresh_token', ...asClient(app) };
      const refreshed = await platform.token({ ...refresh, refresh_token: winner?.body['refresh_token'] });
      t.is(refreshed.status, 200);

      t.is((await platform.token(fields)).body.error, 'invalid_grant', 'and whoever comes later');
      const { body } = await platform.token({ ...refresh, refresh_token: refreshed.body.refresh_token });
      t.is(body.error, 'invalid_grant', 'ends what it gave');
    }
  },
);
