import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';

import test from 'ava';
import type { CredentialStore, Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { authorize, connect, startPlatform } from '../harness/platform.ts';
import type { Platform, TokenAnswer } from '../harness/platform.ts';
import { around, held } from '../harness/storage.ts';
import { Wire } from '../harness/wire.ts';
import { asClient } from './families.ts';

let spending = Promise.withResolvers<void>();
const { storage, pause } = held(
  around(memoryStorage(), async (name, call) => {
    const result = await call();
    if (name === 'credentials.redeem') spending.resolve();
    return result;
  }),
);

/** The same storage for a node whose clock is three seconds behind. */
function behind({ credentials, ...rest }: Storage): Storage {
  const redeem: CredentialStore['redeem'] = async (spent, exchange) =>
    credentials.redeem(spent, { ...exchange, at: exchange.at - 3000 });
  return { ...rest, credentials: { ...credentials, redeem } };
}

const platform = await startPlatform({ storage });
const issuer = platform.origin;
const slow = await startPlatform({ storage: behind(storage), issuer });
const strict = await startPlatform({ storage, issuer, refreshGrace: 0 });
const refreshless = await startPlatform({
  storage,
  issuer,
  configure: (configuration) => ({ ...configuration, issueRefreshToken: async () => false }),
});
const app = await platform.registerApp({ firstParty: true });
test.after.always(() =>
  Promise.all([platform, slow, strict, refreshless].map((node) => node[Symbol.asyncDispose]())),
);

const REFUSED = {
  status: 400,
  body: { error: 'invalid_grant', error_description: 'grant request is invalid' },
};

type Fields = Readonly<Record<string, unknown>>;

async function codeExchange(): Promise<Fields> {
  const code = (await authorize(platform, app)).get('code');
  return { grant_type: 'authorization_code', ...asClient(app), redirect_uri: app.redirectUri, code };
}

async function refresh(): Promise<Fields> {
  const token = (await connect(platform, app)).body.refresh_token;
  return { grant_type: 'refresh_token', ...asClient(app), refresh_token: token };
}

/** Sends a token request and gives its answer, once it comes. */
async function send(wire: Wire, fields: Fields): Promise<Pick<TokenAnswer, 'status' | 'body'>> {
  wire.post('/oauth/token', JSON.stringify(fields), { 'Content-Type': 'application/json' });
  const { status, body } = await wire.answer();
  return { status, body: JSON.parse(body) as TokenAnswer['body'] };
}

async function guard(token: string, at = platform): Promise<unknown> {
  const { status, body } = await at.api('/identity', token);
  return status === 200 ? 200 : body['code'];
}

const WAYS: Readonly<Record<string, { at: Platform; prepare: () => Promise<Fields> }>> = {
  'a code': { at: platform, prepare: codeExchange },
  'a code that gives no refresh token': { at: refreshless, prepare: codeExchange },
  'a refresh token without a grace window': { at: strict, prepare: refresh },
};

for (const [what, { at, prepare }] of Object.entries(WAYS)) {
  test.serial(`${what}: what is sent before the answer is a duplicate and harms nobody`, async (t) => {
    const fields = await prepare();
    const [first, second] = [await Wire.open(at.origin), await Wire.open(at.origin)];
    spending = Promise.withResolvers();
    const answer = send(first, fields);
    await spending.promise;
    // A server that does not hold its answer back has sent it by then, or once it has refused a duplicate.
    await Promise.race([answer, wait(10)]);
    t.deepEqual(await send(second, fields), REFUSED);
    await Promise.race([answer, wait(100)]);
    t.deepEqual(await send(second, fields), REFUSED);
    const { status, body } = await answer;
    t.is(status, 200);
    t.is(await guard(body.access_token, at), 200);
  });

  test.serial(`${what}: what is sent after the answer is a replay, however soon`, async (t) => {
    const fields = await prepare();
    const wire = await Wire.open(at.origin);
    const { status, body } = await send(wire, fields);
    t.is(status, 200);
    t.deepEqual(await send(wire, fields), REFUSED);
    t.is(await guard(body.access_token, at), 'token_revoked');
  });

  test.serial(`${what}: also when there were duplicates`, async (t) => {
    const fields = await prepare();
    const events: string[] = [];
    t.teardown(at.auth.events.on('*', ({ type }) => events.push(type)));
    const wires = await Promise.all(Array.from({ length: 5 }, async () => Wire.open(at.origin)));
    const answers = await Promise.all(wires.map(async (wire) => send(wire, fields)));
    const [winner, ...more] = answers.filter(({ status }) => status === 200);
    t.deepEqual(more, []);
    t.is(await guard(winner!.body.access_token, at), 200);
    t.deepEqual(events, [...Array.from({ length: 4 }, () => 'token_refused'), 'token_issued']);
    t.deepEqual(await send(wires[0]!, fields), REFUSED);
    t.is(await guard(winner!.body.access_token, at), 'token_revoked');
  });
}

test.serial('what came while the server stood still came before its answer', async (t) => {
  const fields = await codeExchange();
  const [first, second] = [await Wire.open(platform.origin), await Wire.open(platform.origin)];
  spending = Promise.withResolvers();
  const answer = send(first, fields);
  await spending.promise;
  await nextTurn();
  const duplicate = send(second, fields);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  t.deepEqual(await duplicate, REFUSED);
  t.is(await guard((await answer).body.access_token), 200);
});

test.serial('it counts when a request came, not when it was looked at', async (t) => {
  const fields = await codeExchange();
  const [first, second] = [await Wire.open(platform.origin), await Wire.open(platform.origin)];
  spending = Promise.withResolvers();
  const answer = send(first, fields);
  await spending.promise;
  const { reached, resume } = pause('credentials.find');
  const duplicate = send(second, fields);
  await reached;
  const { body } = await answer;
  resume();
  t.deepEqual(await duplicate, REFUSED);
  t.is(await guard(body.access_token), 200);
});

test.serial('nobody can hold an answer back for longer than half a minute', async (t) => {
  const fields = await codeExchange();
  const [first, second] = [await Wire.open(platform.origin), await Wire.open(platform.origin)];
  spending = Promise.withResolvers();
  const answers: number[] = [];
  const answered = send(first, fields).then(({ status }) => answers.push(status));
  await spending.promise;
  t.deepEqual(await send(second, fields), REFUSED);
  passTime(30);
  while (answers.length === 0) t.deepEqual(await send(second, fields), REFUSED);
  await answered;
  t.deepEqual(answers, [200]);
});

test.serial(
  'a duplicate on another node is one, too, if the clocks differ by no more than some seconds',
  async (t) => {
    const fields = await codeExchange();
    const { status, body } = await slow.token(fields);
    t.is(status, 200);
    t.deepEqual((await platform.token(fields)).body, REFUSED.body);
    t.is(await guard(body.access_token), 200);
    passTime(6);
    t.deepEqual((await platform.token(fields)).body, REFUSED.body);
    t.is(await guard(body.access_token), 'token_revoked');
  },
);
