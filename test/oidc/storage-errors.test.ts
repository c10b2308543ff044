import test from 'ava';
import { StorageError } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { TokenAnswer } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { asClient } from '../harness/tokens.ts';

/** Names of the storage's methods that fail, such as `grants.redeem`; `*` for all. */
const broken = new Set<string>();
/** Whether they fail after the change, when only the response of the database is lost. */
let afterwards = false;
const failure = (): StorageError => new StorageError('connect ECONNREFUSED postgres://app:password@db/app');

const storage = around(memoryStorage(), async (name, call) => {
  const fails = broken.has(name) || broken.has('*');
  if (!fails) return call();
  if (afterwards) await call();
  throw failure();
});
// Cached entries do not expire during a test, also on a slow machine.
const platform = await startPlatform({ storage, tokens: { revocationLag: 60 } });
const app = await platform.registerApp({ firstParty: true });
const asking = await platform.registerApp();
const service = await platform.registerService();
test.after.always(() => platform[Symbol.asyncDispose]());
test.afterEach.always(() => {
  broken.clear();
  afterwards = false;
});

const client = asClient(app);

async function redeem(code: string): Promise<TokenAnswer> {
  return platform.token({
    grant_type: 'authorization_code',
    ...client,
    redirect_uri: app.redirectUri,
    code,
  });
}

async function refresh(token: string): Promise<TokenAnswer> {
  return platform.token({ grant_type: 'refresh_token', ...client, refresh_token: token });
}

function isUnavailable({ status, body, headers }: TokenAnswer): boolean {
  return (
    status === 503 &&
    body.error === 'temporarily_unavailable' &&
    body.error_description === 'the server cannot reach its storage' &&
    Number(headers.get('retry-after')) > 0
  );
}

test.serial('a code exchange gets 503 with Retry-After, and the code stays unused', async (t) => {
  for (const method of ['grants.findCredential', 'grants.redeem', '*']) {
    const code = (await authorize(platform, app)).get('code')!;
    broken.add(method);
    t.true(isUnavailable(await redeem(code)), method);
    broken.clear();
    const { status, body } = await redeem(code);
    t.is(status, 200, method);
    t.is((await platform.api('/identity', body.access_token)).status, 200, method);
  }
});

test.serial('a refresh gets 503 with Retry-After, and the token stays unused', async (t) => {
  for (const method of ['grants.findCredential', 'grants.redeem', '*']) {
    const { body } = await runCodeFlow(platform, app);
    broken.add(method);
    t.true(isUnavailable(await refresh(body.refresh_token)), method);
    broken.clear();
    t.is((await refresh(body.refresh_token)).status, 200, method);
  }
});

test.serial(
  'when only the response of the storage was lost, a retry of the refresh gets the successor',
  async (t) => {
    const { body } = await runCodeFlow(platform, app);
    broken.add('grants.redeem');
    afterwards = true;
    t.true(isUnavailable(await refresh(body.refresh_token)));
    broken.clear();
    const { status, body: next } = await refresh(body.refresh_token);
    t.is(status, 200);
    t.is((await refresh(next.refresh_token)).status, 200);
  },
);

// A code works once (RFC 6749 section 4.1.2), so that the client needs a new one.
test.serial(
  'when only the response of the storage was lost, a retry of a code exchange gets invalid_grant',
  async (t) => {
    const code = (await authorize(platform, app)).get('code')!;
    broken.add('grants.redeem');
    afterwards = true;
    t.true(isUnavailable(await redeem(code)));
    broken.clear();
    const { status, body } = await redeem(code);
    t.is(status, 400);
    t.is(body.error, 'invalid_grant');
    t.is((await runCodeFlow(platform, app)).status, 200);
  },
);

test.serial('the revocation endpoint responds with 200 only after the revocation is stored', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  for (const [token, method] of [
    [body.access_token, 'revocations.revokeToken'],
    [body.refresh_token, 'grants.revoke'],
    [body.refresh_token, 'grants.findCredential'],
    [body.access_token, '*'],
  ] as const) {
    broken.add(method);
    const answer = await postForm(`${platform.origin}/oauth/revoke`, { ...client, token });
    broken.clear();
    t.is(answer.status, 503, method);
    t.deepEqual(answer.body, {
      error: 'temporarily_unavailable',
      error_description: 'the server cannot reach its storage',
    });
    t.truthy(answer.headers.get('retry-after'));
    t.is((await platform.api('/identity', body.access_token)).status, 200, method);
  }
  for (const method of ['revocations.revokeToken', 'grants.revoke', 'grants.findCredential']) {
    broken.add(method);
    const token = method === 'revocations.revokeToken' ? body.access_token : body.refresh_token;
    await t.throwsAsync(platform.auth.revoke({ token }), { code: 'ERR_STORAGE' }, method);
    broken.clear();
  }
  t.is((await refresh(body.refresh_token)).status, 200);
});

test.serial('introspection responds with 503 for a token that cannot be looked up', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  for (const [token, method] of [
    [body.access_token, 'revocations.isValid'],
    [body.access_token, 'grants.find'],
    [body.refresh_token, 'grants.findCredential'],
  ] as const) {
    broken.add(method);
    const answer = await postForm(`${platform.origin}/oauth/introspect`, { ...client, token });
    broken.clear();
    t.is(answer.status, 503, method);
    t.is(answer.body?.['error'], 'temporarily_unavailable', method);
  }
});

test.serial('a client that cannot be looked up gets 503, not invalid_client', async (t) => {
  const fresh = await platform.registerService();
  const fields = { grant_type: 'client_credentials', ...asClient(fresh) };
  broken.add('clients.find');
  t.true(isUnavailable(await platform.token(fields)));
  broken.clear();
  t.is((await platform.token(fields)).status, 200);
});

test.serial('a cached client gets its token without the storage', async (t) => {
  const fields = { grant_type: 'client_credentials', ...asClient(service) };
  t.is((await platform.token(fields)).status, 200);
  broken.add('*');
  const { status, body } = await platform.token(fields);
  t.is(status, 200);
  broken.clear();
  t.is((await platform.api('/identity', body.access_token)).status, 200);
});

test.serial(
  'the guard responds with 503 for a token that is not cached, and accepts a cached one',
  async (t) => {
    const { body } = await runCodeFlow(platform, app);
    const { body: warm } = await runCodeFlow(platform, app);
    t.is((await platform.api('/identity', warm.access_token)).status, 200);
    broken.add('*');
    t.is((await platform.api('/identity', warm.access_token)).status, 200);
    const answer = await platform.api('/identity', body.access_token);
    t.is(answer.status, 503);
    t.is(answer.body['code'], 'temporarily_unavailable');
    t.truthy(answer.headers.get('retry-after'));
    t.is((await platform.api('/identity', 'nonsense')).status, 401);
    broken.clear();
    t.is((await platform.api('/identity', body.access_token)).status, 200);
  },
);

test.serial('each step of an authorization shows an error page with 503, and can be repeated', async (t) => {
  const browser = new Browser();
  const at = async (step: () => ReturnType<Browser['get']>, ...methods: string[]): Promise<void> => {
    for (const method of methods) {
      broken.add(method);
      const page = await step();
      broken.clear();
      t.is(page.status, 503, `${method}: ${page.text}`);
      t.is(page.location, undefined, method);
      t.is(page.heading, 'This is not working right now', method);
      t.truthy(page.response.headers.get('retry-after'), method);
      t.false(page.html.includes('password@db'), method);
    }
  };
  const start = authorizeUrl(platform, asking);
  const login = await browser.open(start);
  await at(() => signIn(browser, login), 'attempts.count', 'sessions.insert', '*');
  const signedIn = await browser.submit(login, 'Sign in', {
    login: 'ann@school.example',
    password: 'correct horse',
  });
  await at(() => browser.get(signedIn.location!), 'sessions.find', '*');
  const consent = await browser.follow(signedIn);
  t.is(consent.heading, 'Authorize Reports');
  await at(() => browser.get(consent.url), 'sessions.find', '*');
  await at(() => browser.submit(consent, 'Authorize'), 'sessions.find', 'consents.add', '*');
  const consented = await browser.submit(consent, 'Authorize');
  await at(() => browser.get(consented.location!), 'sessions.find', 'grants.insert', '*');
  const end = await browser.get(consented.location!);
  t.truthy(end.location?.searchParams.get('code'));
  await at(() => browser.get(start), 'sessions.find', 'grants.insert', '*');
  t.truthy((await browser.get(start)).location?.searchParams.get('code'));
});

test.serial('the cause of a 503 is in the log, and not in the response', async (t) => {
  broken.add('*');
  const { body } = await refresh('x');
  broken.clear();
  t.false(JSON.stringify(body).includes('ECONNREFUSED'));
  const line = platform.logger.lines.findLast(({ level }) => level === 'error');
  t.like(line?.fields, { err: { code: 'ERR_STORAGE' } });
});
