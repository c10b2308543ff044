import { setTimeout as delay } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../../adapters/databases.ts';
import { authorize, runCodeFlow, startPlatform } from '../../harness/platform.ts';
import type { TokenAnswer } from '../../harness/platform.ts';
import { postJson } from '../../harness/requests.ts';
import { asClient } from '../../harness/tokens.ts';
import { startProcess } from '../../oidc/nodes.ts';

// In milliseconds: longer than the 5 seconds after which a request is late.
const PAUSE = 5500;

const COUNT = 6;

function refresh(token: string): object {
  return { grant_type: 'refresh_token', refresh_token: token };
}

onEachDatabase(
  'what waited at a stopped node, and was repeated at another one, is refused with 503 and ends no family',
  async (t, _database, address) => {
    await using platform = await startPlatform({ storage: knexStorage(address) });
    const app = await platform.registerApp({ firstParty: true });
    await using process = startProcess();
    await using other = await process.open({ address, issuer: platform.origin });
    const at = (origin: string) => async (fields: object) =>
      (await postJson(`${origin}/oauth/token`, { ...asClient(app), ...fields })) as unknown as TokenAnswer;
    const [here, there] = [at(platform.origin), at(other.origin)];

    const firsts: string[] = [];
    while (firsts.length < COUNT) firsts.push((await runCodeFlow(platform, app)).body.refresh_token);
    const code = (await authorize(platform, app)).get('code');
    const exchange = { grant_type: 'authorization_code', redirect_uri: app.redirectUri, code };
    // Half of the connections are open before the pause.
    await Promise.all(firsts.slice(COUNT / 2).map(async () => there(refresh('none'))));

    process.pause();
    const paused = delay(PAUSE);
    const waiting = [...firsts.map(refresh), exchange].map(there);
    const redeemed = await here(exchange);
    t.is(redeemed.status, 200);
    const currents = [redeemed.body.refresh_token];
    for (const first of firsts) {
      const { body } = await here(refresh(first));
      // The successor is used, so that another use of the first token is reuse.
      currents.push((await here(refresh(body.refresh_token))).body.refresh_token);
    }
    await paused;
    process.resume();

    for (const { status, headers, body } of await Promise.all(waiting)) {
      t.is(status, 503, JSON.stringify(body));
      t.is(headers.get('retry-after'), '1');
      t.is(body.error, 'temporarily_unavailable');
      t.is(body.error_description, 'the request has waited too long; send it again');
    }
    // What is sent before the node has read all that waited is refused too, and repeated.
    const used = await Promise.all(
      currents.map(async (token) => {
        let answer = await there(refresh(token));
        while (answer.status === 503) answer = await there(refresh(token));
        return answer;
      }),
    );
    t.deepEqual(
      used.map(({ status }) => status),
      currents.map(() => 200),
    );
  },
);
