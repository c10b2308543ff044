import test from '../harness/test.ts';
import { StorageError } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { TokenAnswer } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { asClient, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

/** Names of the storage's methods that fail, such as `grants.redeem`; `*` for all. */
const broken = new Set<string>();
/** Whether they fail after the change, when only the response of the database is lost. */
let afterwards = false;

const storage = around(memoryStorage(), async (name, call) => {
  if (!broken.has(name) && !broken.has('*')) return call();
  if (afterwards) await call();
  throw new StorageError('connect ECONNREFUSED postgres://app:password@db/app');
});
const started = shared(async (stack) => {
  // Cached entries do not expire during a test, also on a slow machine.
  const platform = stack.use(await startPlatform({ storage, tokens: { revocationLag: 60 } }));
  const app = await platform.registerApp({ firstParty: true });
  const service = await platform.registerService();
  return { platform, app, service };
});

/** Runs a step while methods of the storage fail. */
async function without<T>(method: string, step: () => Promise<T>): Promise<T> {
  broken.add(method);
  try {
    return await step();
  } finally {
    broken.clear();
  }
}

const redeem = async (code: unknown): Promise<TokenAnswer> => {
  const { platform, app } = await started();
  return exchangeCode(platform, app, code);
};
const refresh = async (token: string): Promise<TokenAnswer> => {
  const { platform, app } = await started();
  return exchangeRefreshToken(platform, app, token);
};

function isUnavailable({ status, body, headers }: Pick<TokenAnswer, 'status' | 'headers' | 'body'>): boolean {
  return (
    status === 503 &&
    body.error === 'temporarily_unavailable' &&
    body.error_description === 'the server cannot reach its storage' &&
    Number(headers.get('retry-after')) > 0
  );
}

/** The same at an endpoint that is not of tokens. */
async function isUnavailableAt(path: string, token: string): Promise<boolean> {
  const { platform, app } = await started();
  const answer = await postForm(platform.url(path), { ...asClient(app), token });
  return isUnavailable(answer as unknown as TokenAnswer);
}

test.serial('a code exchange gets 503 with Retry-After, and the code stays unused', async (t) => {
  const { platform, app } = await started();
  for (const method of ['grants.findCredential', 'grants.redeem', '*']) {
    const code = (await authorize(platform, app)).get('code');
    t.true(isUnavailable(await without(method, async () => redeem(code))), method);
    const { status, body } = await redeem(code);
    t.is(status, 200, method);
    t.is((await platform.api('/identity', body.access_token)).status, 200, method);
  }
});

test.serial('a refresh gets 503 with Retry-After, and the token stays unused', async (t) => {
  const { platform, app } = await started();
  for (const method of ['grants.findCredential', 'grants.redeem', '*']) {
    const { body } = await runCodeFlow(platform, app);
    t.true(isUnavailable(await without(method, async () => refresh(body.refresh_token))), method);
    t.is((await refresh(body.refresh_token)).status, 200, method);
  }
});

test.serial(
  'when only the response of the storage was lost, a refresh can be repeated, and a code cannot',
  async (t) => {
    const { platform, app } = await started();
    const { body } = await runCodeFlow(platform, app);
    const code = (await authorize(platform, app)).get('code');
    afterwards = true;
    t.true(isUnavailable(await without('grants.redeem', async () => refresh(body.refresh_token))));
    t.true(isUnavailable(await without('grants.redeem', async () => redeem(code))));
    afterwards = false;
    const { status, body: next } = await refresh(body.refresh_token);
    t.is(status, 200);
    t.is((await refresh(next.refresh_token)).status, 200);
    // It works once (RFC 6749 section 4.1.2), so that the client needs a new one.
    t.like(await redeem(code), { status: 400, body: { error: 'invalid_grant' } });
    t.is((await runCodeFlow(platform, app)).status, 200);
  },
);

test.serial('the revocation endpoint responds with 200 only after the revocation is stored', async (t) => {
  const { platform, app } = await started();
  const { body } = await runCodeFlow(platform, app);
  for (const [token, method] of [
    [body.access_token, 'revocations.revokeToken'],
    [body.refresh_token, 'grants.revoke'],
    [body.refresh_token, 'grants.findCredential'],
    [body.access_token, '*'],
  ] as const) {
    t.true(await without(method, async () => isUnavailableAt('/oauth/revoke', token)), method);
    t.is((await platform.api('/identity', body.access_token)).status, 200, method);
    const byHost = without(method, async () => platform.auth.revoke({ token }));
    await t.throwsAsync(byHost, { code: 'ERR_STORAGE' }, method);
  }
  t.is((await refresh(body.refresh_token)).status, 200);
});

test.serial('introspection responds with 503 for a token that cannot be looked up', async (t) => {
  const { platform, app } = await started();
  const { body } = await runCodeFlow(platform, app);
  for (const [token, method] of [
    [body.access_token, 'revocations.isValid'],
    [body.refresh_token, 'grants.findCredential'],
  ] as const)
    t.true(await without(method, async () => isUnavailableAt('/oauth/introspect', token)), method);
});

test.serial(
  'a client that cannot be looked up gets 503, not invalid_client, and a cached one its token',
  async (t) => {
    const { platform, service } = await started();
    const fresh = await platform.registerService();
    t.true(isUnavailable(await without('clients.find', async () => requestClientToken(platform, fresh))));
    t.is((await requestClientToken(platform, fresh)).status, 200);
    t.is((await requestClientToken(platform, service)).status, 200);
    const { status, body } = await without('*', async () => requestClientToken(platform, service));
    t.is(status, 200);
    t.is((await platform.api('/identity', body.access_token)).status, 200);
  },
);

test.serial(
  'the guard responds with 503 for a token that is not cached, and accepts a cached one',
  async (t) => {
    const { platform, app } = await started();
    const { access_token: token } = (await runCodeFlow(platform, app)).body;
    const { access_token: warm } = (await runCodeFlow(platform, app)).body;
    t.is((await platform.api('/identity', warm)).status, 200);
    await without('*', async () => {
      t.is((await platform.api('/identity', warm)).status, 200);
      const { status, body, headers } = await platform.api('/identity', token);
      t.is(status, 503);
      t.is(body['code'], 'temporarily_unavailable');
      t.truthy(headers.get('retry-after'));
      t.is((await platform.api('/identity', 'nonsense')).status, 401);
    });
    t.is((await platform.api('/identity', token)).status, 200);
  },
);

test.serial('each step of an authorization shows an error page with 503, and can be repeated', async (t) => {
  const { platform } = await started();
  const browser = new Browser();
  const at = async (step: () => ReturnType<Browser['get']>, ...methods: string[]): Promise<void> => {
    for (const method of methods) {
      const page = await without(method, step);
      t.is(page.status, 503, `${method}: ${page.text}`);
      t.is(page.location, undefined, method);
      t.is(page.heading, 'This is not working right now', method);
      t.truthy(page.response.headers.get('retry-after'), method);
      t.false(page.html.includes('password@db'), method);
    }
  };
  const start = authorizeUrl(platform, await platform.registerApp());
  const login = await browser.open(start);
  await at(() => signIn(browser, login), 'attempts.count', 'sessions.insert', '*');
  const ann = { login: 'ann@school.example', password: 'correct horse' };
  const signedIn = await browser.submit(login, 'Sign in', ann);
  await at(() => browser.get(signedIn.location!), 'sessions.find', '*');
  const consent = await browser.follow(signedIn);
  t.is(consent.heading, 'Authorize Reports');
  await at(() => browser.get(consent.url), 'sessions.find', '*');
  await at(() => browser.submit(consent, 'Authorize'), 'sessions.find', 'consents.add', '*');
  const consented = await browser.submit(consent, 'Authorize');
  await at(() => browser.get(consented.location!), 'sessions.find', 'grants.insert', '*');
  t.truthy((await browser.get(consented.location!)).location?.searchParams.get('code'));
  await at(() => browser.get(start), 'sessions.find', 'grants.insert', '*');
  t.truthy((await browser.get(start)).location?.searchParams.get('code'));
});

test.serial('the cause of a 503 is in the log, and not in the response', async (t) => {
  const { platform } = await started();
  const { body } = await without('*', async () => refresh('x'));
  t.false(JSON.stringify(body).includes('ECONNREFUSED'));
  const line = platform.logger.lines.findLast(({ level }) => level === 'error');
  t.like(line?.fields, { err: { code: 'ERR_STORAGE' } });
});
