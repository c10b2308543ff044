/**
 * The grants of the token endpoint that this package redeems itself: each request gets the answer that it would get from
 * oidc-provider's own grant, and leaves the audit record of it.
 */

import test from 'ava';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';
import type { Adapter, AdapterPayload, Configuration, OIDCContext } from 'oidc-provider';

import type { AuditRecord } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import { authorize, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { serve } from '../harness/serve.ts';
import { asClient } from '../harness/tokens.ts';

const SCOPES = {
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
  'schools:write': { description: 'Change your schools', permissions: ['edit_schools'] },
} as const;
const OTHER_API = 'https://reports.example/api';

class Rows extends Map<string, AdapterPayload> {
  /** The code or the refresh token that the current request has presented. */
  found: AdapterPayload | undefined;
}

const platform = await startPlatform({
  limits: { attempts: false },
  // The reference has no grace.
  tokens: { refreshGrace: 0 },
  scopes: SCOPES,
  resources: { [OTHER_API]: { name: 'Reports', scopes: {} } },
});
const app = await platform.registerApp({ firstParty: true });
const other = await platform.registerApp({ firstParty: true });
const service = await platform.registerService(['view_schools']);
const reference = await startReference();
test.after.always(async () => {
  await reference[Symbol.asyncDispose]();
  await platform[Symbol.asyncDispose]();
});

const VERIFIER = 'a'.repeat(43);
// BASE64URL(SHA256(VERIFIER))
const CHALLENGE = 'ZtNPunH49FD35FWYhT5Tv8I7vRKQJ8uxMaL0_9eHjNA';

/** A server with the two apps and the service, whose users are always logged in. */
interface Side {
  readonly issuer: string;
  /** A new code of the app. */
  readonly code: (parameters?: Record<string, string>, of?: RegisteredApp) => Promise<string>;
  readonly send: (fields: Record<string, unknown>) => Promise<Answer>;
  /** What has happened since the last call, as the record of this package names it, oldest first. */
  readonly events: () => Promise<readonly object[]>;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const ours: Side = {
  issuer: platform.origin,
  async code(parameters = {}, of = app) {
    return (await authorize(platform, of, { browser: new Browser(), parameters })).get('code')!;
  },
  send: async (fields) => platform.token(fields),
  async events() {
    const records = await platform.auth.audit.list({ limit: 200 });
    const added = records.filter(({ id }) => !listed.has(id)).toReversed();
    for (const { id } of added) listed.add(id);
    return added.filter(({ type }) => type.startsWith('token')).map(outlineOfRecord);
  },
};

const listed = new Set<string>();

function outlineOfRecord(record: AuditRecord): object {
  const { clientId, error, grantType, reason, type, userId } = record as unknown as Partial<
    Record<string, string>
  >;
  return type === 'tokens_revoked'
    ? { type, clientId, userId }
    : { type, clientId, userId, grantType, error, reason };
}

/** Where this package gives another reason. */
const REASONS = new Map([
  ['authorization code already consumed', 'authorization code already used'],
  ['unsupported code_challenge_method', 'the authorization request had no code_challenge'],
]);

/** The engine alone, with the same clients. */
async function startReference(): Promise<Side & AsyncDisposable> {
  const rows = new Rows();
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  let provider!: Provider;
  let events: object[] = [];
  const served = await serve(async (origin) => {
    provider = new Provider(origin, referenceConfiguration(origin, rows, await exportJWK(privateKey)));
    const handle = provider.callback();
    return (request, response) => void handle(request, response);
  });
  provider.on('grant.success', ({ oidc }) => {
    events.push({ type: 'token_issued', ...requestOf(oidc), userId: oidc.entities.AccessToken?.accountId });
  });
  provider.on('grant.error', ({ oidc }, { error, error_description: description, error_detail: detail }) => {
    events.push({
      type: 'token_refused',
      ...requestOf(oidc),
      error,
      reason: REASONS.get(detail ?? '') ?? detail ?? description,
      // Of a code or a refresh token that is the client's.
      userId: rows.found?.clientId === oidc.client?.clientId ? rows.found?.accountId : undefined,
    });
  });
  provider.on('grant.revoked', ({ oidc }) => {
    events.push({ type: 'tokens_revoked', clientId: oidc.client!.clientId, userId: '1' });
  });
  return {
    issuer: served.origin,
    async code({ code_challenge: codeChallenge, scope } = {}, of = app) {
      const client = (await provider.Client.find(of.client.id))!;
      const grant = new provider.Grant({ accountId: '1', clientId: of.client.id });
      if (scope !== undefined) grant.addResourceScope(served.origin, scope);
      const grantId = await grant.save();
      const code = new provider.AuthorizationCode({
        accountId: '1',
        client,
        grantId,
        gty: 'authorization_code',
        redirectUri: of.redirectUri,
        resource: served.origin,
        scope: scope as string,
        ...(codeChallenge !== undefined && { codeChallenge, codeChallengeMethod: 'S256' }),
      });
      return code.save();
    },
    async send(fields) {
      rows.found = undefined;
      const response = await fetch(`${served.origin}/token`, {
        method: 'POST',
        body: new URLSearchParams(fields as Record<string, string>),
      });
      return { status: response.status, body: (await response.json()) as Answer['body'] };
    },
    async events() {
      const seen = events;
      events = [];
      return seen;
    },
    [Symbol.asyncDispose]: async () => served[Symbol.asyncDispose](),
  };
}

function requestOf({ client, params }: OIDCContext): object {
  return {
    clientId: client?.clientId,
    userId: undefined,
    grantType: params?.['grant_type'],
    error: undefined,
    reason: undefined,
  };
}

function referenceConfiguration(
  issuer: string,
  rows: Rows,
  key: Awaited<ReturnType<typeof exportJWK>>,
): Configuration {
  const ofUser = ['authorization_code', 'refresh_token'];
  const client = ({ client: { id }, secret, redirectUri }: RegisteredApp): object => ({
    client_id: id,
    client_secret: secret,
    token_endpoint_auth_method: 'client_secret_post',
    ...(redirectUri === ''
      ? { redirect_uris: [], response_types: [], grant_types: ['client_credentials'] }
      : { redirect_uris: [redirectUri], grant_types: ofUser }),
    id_token_signed_response_alg: 'ES256',
  });
  return {
    clients: [app, other, service].map(client) as NonNullable<Configuration['clients']>,
    jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig', kid: 'key' }] },
    scopes: [],
    allowOmittingSingleRegisteredRedirectUri: false,
    // Without these, the engine prints that they are missing.
    ttl: { AccessToken: 60, ClientCredentials: 60, Grant: 60, RefreshToken: 60 },
    adapter: (model: string) => mapAdapter(model, rows),
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => issuer,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: Object.keys(SCOPES).join(' '),
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}

function mapAdapter(model: string, rows: Rows): Adapter {
  const key = (id: string): string => `${model} ${id}`;
  return {
    async upsert(id, payload) {
      rows.set(key(id), structuredClone(payload));
    },
    async find(id) {
      const row = rows.get(key(id));
      if (model === 'AuthorizationCode' || model === 'RefreshToken') rows.found = row;
      return structuredClone(row);
    },
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
    async consume(id) {
      rows.get(key(id))!.consumed = true;
    },
    async destroy(id) {
      rows.delete(key(id));
    },
    async revokeByGrantId(grantId) {
      for (const [name, { grantId: of }] of rows)
        if (of === grantId && name.startsWith(`${model} `)) rows.delete(name);
    },
  };
}

/** The last answer of a case, and what it leaves in the record. */
type Case = (side: Side) => Promise<Answer>;

const exchange = (code: string, more: Record<string, unknown> = {}, of = app): Record<string, unknown> => ({
  grant_type: 'authorization_code',
  ...asClient(of),
  redirect_uri: app.redirectUri,
  code,
  ...more,
});
const refresh = (token: unknown, more: Record<string, unknown> = {}, of = app): Record<string, unknown> => ({
  grant_type: 'refresh_token',
  ...asClient(of),
  refresh_token: token,
  ...more,
});
const own = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  grant_type: 'client_credentials',
  ...asClient(service),
  ...more,
});
const BOTH = { scope: 'schools:read schools:write' };

async function refreshTokenOf(side: Side, parameters?: Record<string, string>): Promise<unknown> {
  return (await side.send(exchange(await side.code(parameters)))).body['refresh_token'];
}

const CASES: Record<string, Case> = {
  'client credentials': async ({ send }) => send(own()),
  'client credentials with a scope': async ({ send }) => send(own({ scope: 'schools:read' })),
  'client credentials with a character that no scope has': async ({ send }) => send(own({ scope: 'a"b' })),
  'client credentials for a resource that is no URI': async ({ send }) => send(own({ resource: 'reports' })),
  'client credentials for a resource with a fragment': async ({ issuer, send }) =>
    send(own({ resource: `${issuer}/#x` })),
  'a code': async ({ code, send }) => send(exchange(await code())),
  'a code with scopes': async ({ code, send }) => send(exchange(await code(BOTH))),
  'a code with a verifier': async ({ code, send }) =>
    send(
      exchange(await code({ code_challenge: CHALLENGE, code_challenge_method: 'S256' }), {
        code_verifier: VERIFIER,
      }),
    ),
  'no code': async ({ send }) => send(exchange('')),
  'no redirect URI': async ({ code, send }) => send(exchange(await code(), { redirect_uri: '' })),
  'neither code nor redirect URI': async ({ send }) => send(exchange('', { redirect_uri: '' })),
  'an unknown code': async ({ send }) => send(exchange('unknown')),
  'the code of another client': async ({ code, send }) => send(exchange(await code(), {}, other)),
  'another redirect URI': async ({ code, send }) =>
    send(exchange(await code(), { redirect_uri: 'https://reports.example/other' })),
  'no verifier': async ({ code, send }) =>
    send(exchange(await code({ code_challenge: CHALLENGE, code_challenge_method: 'S256' }))),
  'a wrong verifier': async ({ code, send }) =>
    send(
      exchange(await code({ code_challenge: CHALLENGE, code_challenge_method: 'S256' }), {
        code_verifier: 'b'.repeat(43),
      }),
    ),
  'a verifier without a challenge': async ({ code, send }) =>
    send(exchange(await code(), { code_verifier: VERIFIER })),
  'a short verifier': async ({ code, send }) =>
    send(
      exchange(await code({ code_challenge: CHALLENGE, code_challenge_method: 'S256' }), {
        code_verifier: 'a',
      }),
    ),
  'a long verifier': async ({ code, send }) =>
    send(
      exchange(await code({ code_challenge: CHALLENGE, code_challenge_method: 'S256' }), {
        code_verifier: 'a'.repeat(129),
      }),
    ),
  'a verifier with another character': async ({ code, send }) =>
    send(
      exchange(await code({ code_challenge: CHALLENGE, code_challenge_method: 'S256' }), {
        code_verifier: `${'a'.repeat(43)}+`,
      }),
    ),
  'a code used twice': async ({ code, send }) => {
    const fields = exchange(await code());
    await send(fields);
    return send(fields);
  },
  'a refresh token of a code that was used twice': async ({ code, send }) => {
    const fields = exchange(await code());
    const { body } = await send(fields);
    await send(fields);
    return send(refresh(body['refresh_token']));
  },
  'a code used twice, with another redirect URI the second time': async ({ code, send }) => {
    const fields = exchange(await code());
    await send(fields);
    return send({ ...fields, redirect_uri: 'https://reports.example/other' });
  },
  'a code that was tried with another redirect URI before': async ({ code, send }) => {
    const fields = exchange(await code());
    await send({ ...fields, redirect_uri: 'https://reports.example/other' });
    return send(fields);
  },
  'a code for another resource': async ({ code, send }) =>
    send(exchange(await code(), { resource: OTHER_API })),
  'a code whose resource is named': async ({ code, issuer, send }) =>
    send(exchange(await code(), { resource: issuer })),
  'a refresh': async (side) => side.send(refresh(await refreshTokenOf(side))),
  'a refresh with its scopes': async (side) => side.send(refresh(await refreshTokenOf(side, BOTH), BOTH)),
  'a refresh with fewer scopes': async (side) =>
    side.send(refresh(await refreshTokenOf(side, BOTH), { scope: 'schools:read' })),
  'a refresh after one with fewer scopes': async (side) => {
    const { body } = await side.send(refresh(await refreshTokenOf(side, BOTH), { scope: 'schools:read' }));
    return side.send(refresh(body['refresh_token']));
  },
  'a refresh with another scope': async (side) =>
    side.send(refresh(await refreshTokenOf(side, { scope: 'schools:read' }), { scope: 'schools:write' })),
  'a refresh with two other scopes': async (side) =>
    side.send(refresh(await refreshTokenOf(side, { scope: 'schools:read' }), { scope: 'a schools:read b' })),
  'no refresh token': async ({ send }) => send(refresh('')),
  'an unknown refresh token': async ({ send }) => send(refresh('unknown')),
  'a code as refresh token': async ({ code, send }) => send(refresh(await code())),
  'the refresh token of another client': async (side) =>
    side.send(refresh(await refreshTokenOf(side), {}, other)),
  'a refresh token spent before its successor was': async (side) => {
    const first = await refreshTokenOf(side);
    const { body } = await side.send(refresh(first));
    await side.send(refresh(body['refresh_token']));
    return side.send(refresh(first));
  },
  'the current refresh token after an older one was used again': async (side) => {
    const first = await refreshTokenOf(side);
    const second = (await side.send(refresh(first))).body['refresh_token'];
    const third = (await side.send(refresh(second))).body['refresh_token'];
    await side.send(refresh(first));
    return side.send(refresh(third));
  },
  'a refresh whose resource is named': async (side) =>
    side.send(refresh(await refreshTokenOf(side), { resource: side.issuer })),
  'a refresh for another resource': async (side) =>
    side.send(refresh(await refreshTokenOf(side), { resource: OTHER_API })),
};

const ANOTHER_RESOURCE = 'this was granted for another resource: authorize the client for the resource first';

/** Where this package describes an error otherwise. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'a code for another resource': ANOTHER_RESOURCE,
  'a refresh for another resource': ANOTHER_RESOURCE,
};

for (const [title, run] of Object.entries(CASES)) {
  test.serial(title, async (t) => {
    const expected = outline(await run(reference));
    await ours.events();
    const description = DESCRIPTIONS[title];
    t.deepEqual(outline(await run(ours)), {
      ...expected,
      ...(description !== undefined && { error_description: description }),
    });
    const events = await reference.events();
    for (const event of events)
      if (description !== undefined && 'error' in event && event.error !== undefined)
        Object.assign(event, { reason: description });
    t.deepEqual(await ours.events(), events);
  });
}

function outline({ body, status }: Answer): object {
  const members = Object.entries(body).map(([name, value]) => [
    name,
    name.endsWith('_token') ? typeof value : name === 'expires_in' ? 'seconds' : value,
  ]);
  return { status, ...(Object.fromEntries(members) as object) };
}
