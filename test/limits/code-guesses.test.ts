import test from '../harness/test.ts';

import { passTime } from '../harness/clock.ts';
import { authorize } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { asClient, REFUSED_GRANT } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { startLimited, tally, times } from './platform.ts';

const started = shared(async (stack) => {
  // The limit holds also with `limits.attempts: false`.
  const server = stack.use(await startLimited({ limits: { attempts: false } }));
  const { platform } = server;
  const app = await platform.registerApp({ firstParty: true });
  const other = await platform.registerApp({ firstParty: true });
  const publicApp = await platform.registerApp({ firstParty: true, confidential: false });
  return { server, platform, app, other, publicApp };
});

async function start(by: RegisteredApp): Promise<{ code: string; code_verifier: string }> {
  const { platform } = await started();
  const { parameters, verifier } = pkce();
  const code = (await authorize(platform, by, { parameters })).get('code')!;
  return { code, code_verifier: verifier };
}

async function redeem(by: RegisteredApp, fields: Record<string, string>): Promise<Answer> {
  const { platform } = await started();
  const grant = { grant_type: 'authorization_code', redirect_uri: by.redirectUri, ...asClient(by) };
  return postForm(platform.url('/oauth/token'), { ...grant, ...fields });
}

/** Another verifier. */
function guess(): { code_verifier: string } {
  return { code_verifier: pkce().verifier };
}

test.serial('after nine wrong verifiers the right one works, after ten it does not', async (t) => {
  const { publicApp, app } = await started();
  for (const by of [publicApp, app]) {
    for (const [wrong, status] of [
      [9, 200],
      [10, 400],
    ] as const) {
      const right = await start(by);
      await times(wrong, async () => redeem(by, { ...right, ...guess() }));
      const answer = await redeem(by, right);
      t.is(answer.status, status);
      if (status === 200) continue;
      t.deepEqual(answer.body, REFUSED_GRANT);
      passTime(10);
      t.is((await redeem(by, right)).status, 400);
    }
  }
});

test.serial(
  'wrong redirect URIs count too, other errors of a request and other clients do not',
  async (t) => {
    const { app, publicApp, other } = await started();
    for (const [by, attacker, fields, status] of [
      [app, app, { redirect_uri: 'https://reports.example/other' }, 400],
      [publicApp, publicApp, { resource: 'https://elsewhere.example' }, 200],
      [app, other, guess(), 200],
      [app, { ...app, secret: 'wrong' }, guess(), 200],
    ] as const) {
      const right = await start(by);
      const statuses = await times(12, async () => redeem(attacker, { ...right, ...fields }));
      t.false(statuses.includes(200));
      t.is((await redeem(by, right)).status, status, JSON.stringify(fields));
    }
  },
);

test.serial('wrong redirect URIs end a code without a challenge too', async (t) => {
  const { platform, app } = await started();
  for (const [wrong, status] of [
    [9, 200],
    [10, 400],
  ] as const) {
    const right = { code: (await authorize(platform, app)).get('code')! };
    await times(wrong, async () => redeem(app, { ...right, redirect_uri: 'https://reports.example/other' }));
    t.is((await redeem(app, right)).status, status);
  }
});

test.serial('thirty concurrent wrong verifiers end the code, and none of them gets a token', async (t) => {
  const { publicApp } = await started();
  const right = await start(publicApp);
  const answers = await Promise.all(
    Array.from({ length: 30 }, async () => redeem(publicApp, { ...right, ...guess() })),
  );
  t.deepEqual(tally(answers), { 400: 30 });
  t.is((await redeem(publicApp, right)).status, 400);
});

test.serial(
  'a success is not counted, and when a wrong verifier cannot be counted the response is 503',
  async (t) => {
    const { publicApp, server } = await started();
    const right = await start(publicApp);
    server.broken.add('attempts.count');
    t.is((await redeem(publicApp, { ...right, ...guess() })).status, 503);
    server.broken.clear();
    server.counted.length = 0;
    t.is((await redeem(publicApp, right)).status, 200);
    t.deepEqual(server.counted, []);
  },
);
