import test from 'ava';

import { passTime } from '../harness/clock.ts';
import { authorize } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { startLimited, tally, times } from './platform.ts';

// The limit holds also with `limits.attempts: false`.
const server = await startLimited({ limits: { attempts: false } });
const { platform } = server;
const app = await platform.registerApp({ firstParty: true });
const publicApp = await platform.registerApp({ firstParty: true, confidential: false });
test.after.always(() => server[Symbol.asyncDispose]());

async function start(by: RegisteredApp): Promise<{ code: string; verifier: string }> {
  const { parameters, verifier } = pkce();
  return { code: (await authorize(platform, by, { parameters })).get('code')!, verifier };
}

async function redeem(
  by: RegisteredApp,
  code: string,
  {
    verifier,
    redirectUri = by.redirectUri,
    resource,
  }: { verifier: string; redirectUri?: string; resource?: string },
): Promise<Answer> {
  return postForm(platform.url('/oauth/token'), {
    grant_type: 'authorization_code',
    client_id: by.client.id,
    ...(by.client.confidential ? { client_secret: by.secret } : {}),
    redirect_uri: redirectUri,
    code,
    code_verifier: verifier,
    ...(resource === undefined ? {} : { resource }),
  });
}

// Sets the clock ahead: the tests below it start afterwards.
test.serial('a code that wrong verifiers have ended does not work later either', async (t) => {
  const { code, verifier } = await start(publicApp);
  await times(10, async () => redeem(publicApp, code, { verifier: pkce().verifier }));
  passTime(10);
  t.is((await redeem(publicApp, code, { verifier })).status, 400);
});

test.serial('after nine wrong verifiers the right one works, after ten it does not', async (t) => {
  for (const by of [publicApp, app]) {
    for (const [wrong, status] of [
      [9, 200],
      [10, 400],
    ] as const) {
      const { code, verifier } = await start(by);
      await times(wrong, async () => redeem(by, code, { verifier: pkce().verifier }));
      const answer = await redeem(by, code, { verifier });
      t.is(answer.status, status);
      if (status === 400) {
        t.deepEqual(answer.body, { error: 'invalid_grant', error_description: 'grant request is invalid' });
      }
    }
  }
});

test.serial('wrong redirect URIs count too', async (t) => {
  const { code, verifier } = await start(app);
  await times(10, async (index) =>
    redeem(app, code, { verifier, redirectUri: `https://reports.example/${index}` }),
  );
  t.is((await redeem(app, code, { verifier })).status, 400);
});

test.serial('other errors of a request with the right verifier do not count', async (t) => {
  const { code, verifier } = await start(publicApp);
  const resource = 'https://elsewhere.example';
  const statuses = await times(10, async () => redeem(publicApp, code, { verifier, resource }));
  t.deepEqual(
    statuses,
    Array.from({ length: 10 }, () => 400),
  );
  t.is((await redeem(publicApp, code, { verifier })).status, 200);
});

test.serial('thirty concurrent wrong verifiers end the code, and none of them gets a token', async (t) => {
  const { code, verifier } = await start(publicApp);
  const answers = await Promise.all(
    Array.from({ length: 30 }, async () => redeem(publicApp, code, { verifier: pkce().verifier })),
  );
  t.deepEqual(tally(answers), { 400: 30 });
  t.is((await redeem(publicApp, code, { verifier })).status, 400);
});

test.serial('requests of another client or with a wrong secret do not count', async (t) => {
  const { code, verifier } = await start(app);
  const other = await platform.registerApp({ firstParty: true });
  await times(12, async () => redeem(other, code, { verifier: pkce().verifier }));
  await times(12, async () => redeem({ ...app, secret: 'wrong' }, code, { verifier: pkce().verifier }));
  t.is((await redeem(app, code, { verifier })).status, 200);
});

test.serial('a successful redemption is not counted', async (t) => {
  server.counted.length = 0;
  const { code, verifier } = await start(publicApp);
  t.is((await redeem(publicApp, code, { verifier })).status, 200);
  t.deepEqual(server.counted, []);
});

test.serial('when a wrong verifier cannot be counted the response is 503', async (t) => {
  const { code, verifier } = await start(publicApp);
  server.broken.add('attempts.count');
  t.is((await redeem(publicApp, code, { verifier: pkce().verifier })).status, 503);
  server.broken.clear();
  t.is((await redeem(publicApp, code, { verifier })).status, 200);
});
