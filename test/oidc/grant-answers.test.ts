/** The answer of the token endpoint to each mistake in a request of a grant, and the reason of it in the audit record. */

import test from '../harness/test.ts';

import { authorize, BOTH_SCOPES, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { exchangeCode, exchangeRefreshToken, requestClientToken, REFUSED_GRANT } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const OTHER_API = 'https://reports.example/api';
const WRONG_URI = { redirect_uri: 'https://reports.example/other' };
const BOTH = { scope: 'schools:read schools:write' };

const started = shared(async (stack) => {
  const platform = stack.use(
    await startPlatform({
      limits: { attempts: false },
      tokens: { refreshGrace: 0 },
      scopes: BOTH_SCOPES,
      resources: { [OTHER_API]: { name: 'Reports', scopes: {} } },
    }),
  );
  const app = await platform.registerApp({ firstParty: true });
  const other = await platform.registerApp({ firstParty: true });
  const service = await platform.registerService(['view_schools']);
  return { platform, app, other, service };
});

const { parameters: challenge, verifier } = pkce();

async function codeFor(parameters: Record<string, string> = {}): Promise<string> {
  const { platform, app } = await started();
  return (await authorize(platform, app, { parameters })).get('code')!;
}

type More = Record<string, unknown>;

const own = async (more: More): Promise<TokenAnswer> => {
  const { platform, service } = await started();
  return requestClientToken(platform, service, more);
};

/** Exchanges a new code. */
async function exchange(more: More = {}, parameters?: Record<string, string>): Promise<TokenAnswer> {
  const { platform, app } = await started();
  return exchangeCode(platform, app, await codeFor(parameters), more);
}

async function refresh(token: unknown, more: More = {}, by?: RegisteredApp): Promise<TokenAnswer> {
  const { app, platform } = await started();
  return exchangeRefreshToken(platform, by ?? app, token, more);
}

/** Refreshes the token of a new code. */
async function refreshNew(more: More, parameters?: Record<string, string>): Promise<TokenAnswer> {
  return refresh((await exchange({}, parameters)).body.refresh_token, more);
}

async function exchangeTwice(more: More = {}): Promise<{ first: TokenAnswer; second: TokenAnswer }> {
  const { platform, app } = await started();
  const code = await codeFor();
  const first = await exchangeCode(platform, app, code);
  return { first, second: await exchangeCode(platform, app, code, more) };
}

/** Refreshes twice with the first token of a family. Resolves to the last answer, and the current refresh token. */
async function reuse(): Promise<{ refused: TokenAnswer; current: string }> {
  const first = (await exchange()).body.refresh_token;
  const second = await refresh(first);
  const third = await refresh(second.body.refresh_token);
  return { refused: await refresh(first), current: third.body.refresh_token };
}

/** The request, and the reason in the record: the client is not told what is wrong with its code or refresh token. */
const INVALID_GRANT: Readonly<Record<string, readonly [() => Promise<TokenAnswer>, string]>> = {
  'an unknown code': [async () => exchange({ code: 'unknown' }), 'authorization code not found'],
  'another client’s code': [
    async () => {
      const { platform, other } = await started();
      return exchangeCode(platform, other, await codeFor());
    },
    'client mismatch',
  ],
  'another redirect URI': [async () => exchange(WRONG_URI), 'authorization code redirect_uri mismatch'],
  'no verifier': [async () => exchange({}, challenge), 'code_verifier must be provided'],
  'a wrong verifier': [
    async () => exchange({ code_verifier: 'b'.repeat(43) }, challenge),
    'code_verifier does not match code_challenge',
  ],
  'a verifier without a challenge': [
    async () => exchange({ code_verifier: verifier }),
    'the authorization request had no code_challenge',
  ],
  'a code used twice': [async () => (await exchangeTwice()).second, 'authorization code already used'],
  'a code used twice, with another redirect URI the second time': [
    async () => (await exchangeTwice(WRONG_URI)).second,
    'authorization code redirect_uri mismatch',
  ],
  'a refresh token of a code that was used twice': [
    async () => refresh((await exchangeTwice()).first.body.refresh_token),
    'refresh token not found',
  ],
  'an unknown refresh token': [async () => refresh('unknown'), 'refresh token not found'],
  'another client’s refresh token': [
    async () => {
      const { other } = await started();
      return refresh((await exchange()).body.refresh_token, {}, other);
    },
    'client mismatch',
  ],
  'a used refresh token': [async () => (await reuse()).refused, 'refresh token already used'],
  'the current refresh token after an older one was used again': [
    async () => refresh((await reuse()).current),
    'refresh token not found',
  ],
};

for (const [title, [send, reason]] of Object.entries(INVALID_GRANT)) {
  test.serial(`invalid_grant: ${title}`, async (t) => {
    const { platform, other } = await started();
    const { body, status } = await send();
    t.is(status, 400);
    t.like(body, REFUSED_GRANT);
    const [record] = await platform.auth.audit.list({ limit: 1 });
    t.like(record, { type: 'token_refused', error: 'invalid_grant', reason });
    // Not whose code or refresh token it is.
    if (reason === 'client mismatch') t.like(record, { clientId: other.client.id, userId: undefined });
  });
}

const ANOTHER_RESOURCE = 'this was granted for another resource: authorize the client for the resource first';
const LENGTH = 'code_verifier must be a string with a';

/** The code of the error, its description, and the request. */
const OTHERS: readonly (readonly [string, string, () => Promise<TokenAnswer>])[] = [
  ['invalid_client', 'client authentication failed', async () => own({ client_secret: 'wrong' })],
  [
    'unauthorized_client',
    'this client may not use this grant type',
    async () => {
      const { service } = await started();
      return refresh('x', {}, service);
    },
  ],
  ['unsupported_grant_type', 'unsupported grant_type requested', async () => own({ grant_type: 'password' })],
  ['invalid_scope', 'scope contains invalid characters', async () => own({ scope: 'a"b' })],
  ['invalid_target', 'resource indicator must be an absolute URI', async () => own({ resource: 'reports' })],
  [
    'invalid_target',
    'resource indicator must not contain a fragment component',
    async () => own({ resource: `${OTHER_API}#x` }),
  ],
  ['invalid_request', "missing required parameter 'code'", async () => exchange({ code: '' })],
  [
    'invalid_request',
    "missing required parameters 'code' and 'redirect_uri'",
    async () => exchange({ code: '', redirect_uri: '' }),
  ],
  [
    'invalid_request',
    `${LENGTH} minimum length of 43 characters`,
    async () => exchange({ code_verifier: 'a'.repeat(42) }, challenge),
  ],
  [
    'invalid_request',
    `${LENGTH} maximum length of 128 characters`,
    async () => exchange({ code_verifier: 'a'.repeat(129) }, challenge),
  ],
  [
    'invalid_request',
    'code_verifier contains invalid characters',
    async () => exchange({ code_verifier: `${'a'.repeat(43)}+` }, challenge),
  ],
  ['invalid_target', ANOTHER_RESOURCE, async () => exchange({ resource: OTHER_API })],
  ['invalid_request', "missing required parameter 'refresh_token'", async () => refresh('')],
  [
    'invalid_scope',
    'refresh token missing requested scope',
    async () => refreshNew({ scope: 'schools:write' }, { scope: 'schools:read' }),
  ],
  [
    'invalid_scope',
    'refresh token missing requested scopes',
    async () => refreshNew({ scope: 'a schools:read b' }, { scope: 'schools:read' }),
  ],
  ['invalid_target', ANOTHER_RESOURCE, async () => refreshNew({ resource: OTHER_API })],
];

/** Where the record says more than the client is told. */
const REASONS: Readonly<Record<string, string>> = {
  invalid_client: 'invalid secret provided',
  unauthorized_client: 'requested grant type is not allowed for this client',
};

test.serial('the other errors tell the client what is wrong', async (t) => {
  const { platform } = await started();
  for (const [error, description, send] of OTHERS) {
    const { body, status } = await send();
    t.is(status, error === 'invalid_client' ? 401 : 400);
    t.like(body, { error, error_description: description });
    const [record] = await platform.auth.audit.list({ limit: 1 });
    t.like(record, { type: 'token_refused', error, reason: REASONS[error] ?? description });
  }
});

test('the same requests without the mistake are accepted', async (t) => {
  const { platform, app } = await started();
  const code = await codeFor();
  t.is((await exchangeCode(platform, app, code, WRONG_URI)).status, 400);
  for (const { body, status } of [
    await exchangeCode(platform, app, code),
    await exchange({ resource: platform.origin }),
    await exchange({ code_verifier: verifier }, challenge),
    await refreshNew({ resource: platform.origin }),
  ])
    t.deepEqual([status, body.scope], [200, undefined]);
  for (const { body } of [await exchange({}, BOTH), await refreshNew(BOTH, BOTH)])
    t.is(body.scope, BOTH.scope);
});
