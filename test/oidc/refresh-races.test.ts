import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime, stopClock } from '../harness/clock.ts';
import { authorize, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform, TokenAnswer } from '../harness/platform.ts';
import { pausable, slow } from '../harness/storage.ts';
import { asClient } from '../harness/tokens.ts';

// Two nodes on one slow storage, and two more nodes without grace.
const pauses = pausable(memoryStorage());
const storage = slow(pauses.storage);
const first = await startPlatform({ storage });
const second = await startPlatform({ storage, issuer: first.origin });
const strict = await startPlatform({ storage, issuer: first.origin, tokens: { refreshGrace: 0 } });
const strictToo = await startPlatform({ storage, issuer: first.origin, tokens: { refreshGrace: 0 } });
const app = await first.registerApp({ firstParty: true });
test.after.always(() =>
  Promise.all([first, second, strict, strictToo].map((node) => node[Symbol.asyncDispose]())),
);

const client = asClient(app);
const REFUSED = { error: 'invalid_grant', error_description: 'grant request is invalid' };

async function refresh(token: string, at: Platform = first): Promise<TokenAnswer> {
  return at.token({ grant_type: 'refresh_token', ...client, refresh_token: token });
}

async function newToken(): Promise<string> {
  return (await runCodeFlow(first, app)).body.refresh_token;
}

async function worksAt(token: string, at: Platform = first): Promise<boolean> {
  return (await at.api('/identity', token)).status === 200;
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

test.serial('100 concurrent refreshes all get the same successor', async (t) => {
  const token = await newToken();
  const answers = await Promise.all(times(100, (index) => refresh(token, index % 2 ? first : second)));
  t.true(answers.every(({ status }) => status === 200));
  t.is(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
  t.is(new Set(answers.map(({ body }) => body.access_token)).size, 100);
  t.true(await worksAt(answers[0]!.body.access_token));
  t.true(await worksAt(answers[99]!.body.access_token));

  const successor = answers[0]!.body.refresh_token;
  t.not(successor, token);
  t.is((await refresh(successor)).status, 200, 'the successor works');
});

test.serial('40 refreshes that have all read the unused token get the same successor', async (t) => {
  const token = await newToken();
  pauses.gather('grants.redeem', 40);
  const answers = await Promise.all(times(40, (index) => refresh(token, index % 2 ? first : second)));
  t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  t.is(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
  t.is((await refresh(answers[0]!.body.refresh_token)).status, 200);
});

test.serial(
  'without grace one of 50 concurrent refreshes succeeds, and the others do not revoke the family',
  async (t) => {
    for (const nodes of [[strict], [strict, strictToo]]) {
      const token = await newToken();
      pauses.gather('grants.redeem', 50);
      const answers = await Promise.all(times(50, (index) => refresh(token, nodes[index % nodes.length])));
      const [winner, ...more] = answers.filter(({ status }) => status === 200);
      t.is(more.length, 0);
      for (const { status, body } of answers.filter((answer) => answer !== winner)) {
        t.is(status, 400);
        t.deepEqual(body, REFUSED);
      }
      t.true(await worksAt(winner!.body.access_token, strict));
      t.is((await refresh(winner!.body.refresh_token, strict)).status, 200);
    }
  },
);

test.serial('without grace a later second use revokes the family', async (t) => {
  const token = await newToken();
  const { body } = await refresh(token, strict);
  const again = await refresh(token, strict);
  t.is(again.status, 400);
  t.deepEqual(again.body, REFUSED);
  t.false(await worksAt(body.access_token, strict));
  t.deepEqual((await refresh(body.refresh_token, strict)).body, REFUSED);
});

test.serial('without grace a later second use on another node revokes the family', async (t) => {
  const token = await newToken();
  const { body } = await refresh(token, strict);
  passTime(6);
  t.deepEqual((await refresh(token, strictToo)).body, REFUSED);
  t.deepEqual((await refresh(body.refresh_token, strict)).body, REFUSED);
});

test.serial('a family can be refreshed after concurrent uses of each token', async (t) => {
  let token = await newToken();
  for (let link = 0; link < 5; link += 1) {
    const answers = await Promise.all(times(5, () => refresh(token)));
    const successors = new Set(answers.map(({ body }) => body.refresh_token));
    t.is(successors.size, 1);
    [token = ''] = [...successors];
  }
  t.is((await refresh(token)).status, 200);
});

test.serial('a family that is revoked during a refresh issues no tokens', async (t) => {
  const token = await newToken();
  const { reached, resume } = pauses.pause('grants.redeem');
  const refreshing = refresh(token);
  await reached;
  await first.auth.revoke({ token });
  resume();
  const { status, body } = await refreshing;
  t.is(status, 400);
  t.deepEqual(body, REFUSED);
  t.deepEqual((await refresh(token)).body, REFUSED);
});

test.serial('a refresh whose response was lost can be repeated', async (t) => {
  const token = await newToken();
  const { reached, resume } = pauses.pause('grants.redeem');
  const aborted = new AbortController();
  const lost = fetch(`${first.origin}/oauth/token`, {
    method: 'POST',
    signal: aborted.signal,
    body: new URLSearchParams({ grant_type: 'refresh_token', ...client, refresh_token: token }),
  });
  await reached;
  aborted.abort();
  await t.throwsAsync(lost, { name: 'AbortError' });
  resume();
  const { status, body } = await refresh(token);
  t.is(status, 200);
  t.is((await refresh(body.refresh_token)).status, 200);
});

test.serial(
  'of 100 code exchanges that have all read the unused code one gets tokens, and they work',
  async (t) => {
    const code = (await authorize(first, app)).get('code');
    const fields = { grant_type: 'authorization_code', ...client, redirect_uri: app.redirectUri, code };
    pauses.gather('grants.redeem', 100);
    const answers = await Promise.all(times(100, (index) => (index % 2 ? first : second).token(fields)));
    const [winner, ...more] = answers.filter(({ status }) => status === 200);
    t.is(more.length, 0);
    for (const { status, body } of answers.filter((answer) => answer !== winner)) {
      t.is(status, 400);
      t.deepEqual(body, REFUSED);
    }
    t.true(await worksAt(winner!.body.access_token));
    t.is((await refresh(winner!.body.refresh_token)).status, 200);
  },
);

test.serial(
  'a refresh token whose successor was used revokes the family when it is used again after refreshGrace',
  async (t) => {
    const token = await newToken();
    const retried = [await refresh(token), await refresh(token, second)];
    const [successor, same] = retried.map(({ body }) => body.refresh_token);
    t.is(successor, same);
    const { body } = await refresh(successor!, second);
    t.is((await refresh(token)).body.refresh_token, body.refresh_token);
    passTime(60);
    t.deepEqual((await refresh(token)).body, REFUSED);
    t.false(await worksAt(body.access_token));
    t.deepEqual((await refresh(body.refresh_token)).body, REFUSED);
  },
);

test.serial(
  'a refresh token of an earlier generation revokes the family when it is used again after refreshGrace',
  async (t) => {
    const oldest = await newToken();
    let newest = oldest;
    for (let link = 0; link < 3; link += 1) newest = (await refresh(newest)).body.refresh_token;
    t.is((await refresh(oldest)).body.refresh_token, newest);
    passTime(60);
    t.deepEqual((await refresh(oldest)).body, REFUSED);
    t.deepEqual((await refresh(newest)).body, REFUSED);
  },
);

test.serial('a second use of a refresh token after refreshGrace revokes the family', async (t) => {
  using _stopped = stopClock();
  const token = await newToken();
  const { body } = await refresh(token);
  passTime(59);
  t.is((await refresh(token)).body.refresh_token, body.refresh_token);
  passTime(1);
  t.deepEqual((await refresh(token)).body, REFUSED);
  t.deepEqual((await refresh(body.refresh_token)).body, REFUSED);
});
