import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform, TokenAnswer } from '../harness/platform.ts';
import { pausable, slow } from '../harness/storage.ts';
import { asClient, exchangeRefreshToken, REFUSED_GRANT } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const inner = memoryStorage();
/** What was stored for each redemption of a refresh token. */
const sealed: string[] = [];
const redeem = inner.grants.redeem.bind(inner.grants);
inner.grants.redeem = async (spent, change) => {
  if (change.sealedSuccessor !== undefined) sealed.push(change.sealedSuccessor);
  return redeem(spent, change);
};
// Two nodes on one slow storage, and two more nodes without grace.
const pauses = pausable(inner);
const storage = slow(pauses.storage);
const started = shared(async (stack) => {
  const first = stack.use(await startPlatform({ storage }));
  const second = stack.use(await startPlatform({ storage, issuer: first.origin }));
  const strict = stack.use(
    await startPlatform({ storage, issuer: first.origin, tokens: { refreshGrace: 0 } }),
  );
  const strictToo = stack.use(
    await startPlatform({ storage, issuer: first.origin, tokens: { refreshGrace: 0 } }),
  );
  const app = await first.registerApp({ firstParty: true });
  return { first, second, strict, strictToo, app };
});

async function refresh(token: string, at?: Platform): Promise<TokenAnswer> {
  const { first, app } = await started();
  return exchangeRefreshToken(at ?? first, app, token);
}

/** The answers to requests at once, which take turns at the nodes. */
async function race(count: number, token: string, nodes: readonly Platform[]): Promise<TokenAnswer[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => refresh(token, nodes[index % nodes.length])),
  );
}

async function newToken(): Promise<string> {
  const { first, app } = await started();
  return (await runCodeFlow(first, app)).body.refresh_token;
}

async function worksAt(token: string, at?: Platform): Promise<boolean> {
  const { first } = await started();
  return (await (at ?? first).api('/identity', token)).status === 200;
}

test.serial('concurrent refreshes all get the same successor', async (t) => {
  const { first, second } = await started();
  for (const haveAllRead of [false, true]) {
    const token = await newToken();
    sealed.length = 0;
    if (haveAllRead) pauses.gather('grants.redeem', 20);
    const answers = await race(20, token, [first, second]);
    t.true(answers.every(({ status }) => status === 200));
    t.is(new Set(answers.map(({ body }) => body.access_token)).size, 20);
    t.true(await worksAt(answers[0]!.body.access_token));
    const [successor = '', ...others] = new Set(answers.map(({ body }) => body.refresh_token));
    t.deepEqual(others, []);
    t.not(successor, token);
    t.is((await refresh(successor)).status, 200, 'the successor works');

    // All are sealed with a key from the same token.
    const bytes = sealed.map((text) => Buffer.from(text, 'base64url'));
    t.is(new Set(bytes.map((one) => one.subarray(0, 12).toString('hex'))).size, bytes.length, 'the nonces');
    for (const one of bytes)
      for (const value of [token, successor])
        t.false(one.includes(value) || one.includes(Buffer.from(value, 'base64url')));
  }
});

test.serial(
  'without grace one of concurrent refreshes succeeds, and the others do not revoke the family',
  async (t) => {
    const { strict, strictToo } = await started();
    for (const nodes of [[strict], [strict, strictToo]]) {
      const token = await newToken();
      pauses.gather('grants.redeem', 20);
      const answers = await race(20, token, nodes);
      const [winner, ...more] = answers.filter(({ status }) => status === 200);
      t.is(more.length, 0);
      for (const { status, body } of answers.filter((answer) => answer !== winner))
        t.deepEqual([status, body as object], [400, REFUSED_GRANT]);
      t.true(await worksAt(winner!.body.access_token, strict));
      t.is((await refresh(winner!.body.refresh_token, strict)).status, 200);
    }
  },
);

test.serial('without grace a later second use revokes the family, on another node too', async (t) => {
  const { strict, strictToo } = await started();
  for (const node of [strict, strictToo]) {
    const token = await newToken();
    const { body } = await refresh(token, strict);
    t.true(await worksAt(body.access_token, node));
    const again = await refresh(token, node);
    t.deepEqual([again.status, again.body as object], [400, REFUSED_GRANT]);
    t.false(await worksAt(body.access_token, node));
    t.deepEqual((await refresh(body.refresh_token, strict)).body, REFUSED_GRANT);
    passTime(6);
    t.false(await worksAt(body.access_token, strict));
  }
});

test.serial('a refresh whose response was lost can be repeated', async (t) => {
  const { first, app } = await started();
  const token = await newToken();
  const { reached, resume } = pauses.pause('grants.redeem');
  const aborted = new AbortController();
  const lost = fetch(first.url('/oauth/token'), {
    method: 'POST',
    signal: aborted.signal,
    body: new URLSearchParams({ grant_type: 'refresh_token', ...asClient(app), refresh_token: token }),
  });
  await reached;
  aborted.abort();
  await t.throwsAsync(lost, { name: 'AbortError' });
  resume();
  const { status, body } = await refresh(token);
  t.is(status, 200);
  t.is((await refresh(body.refresh_token)).status, 200);
});
