import test from '../harness/test.ts';

import { createApiRouter, createAuthServer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { people, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';
import { APIS, ARCHIVE, DOCUMENTS, get, startApis, statusOf } from './apis.ts';
import type { Middleware } from 'koa';

const METADATA = 'https://documents.example/.well-known/oauth-protected-resource/v1';
const INSUFFICIENT = 'The scopes of the access token exclude a required permission.';

const started = shared(async (stack) => {
  const platform = stack.use(await startApis());
  return { platform };
});

/** A challenge's scheme and parameters. */
function parse(response: Response): Record<string, string> | undefined {
  const header = response.headers.get('www-authenticate');
  if (header === null) return undefined;
  const [, scheme, parameters = ''] = /^(\S+) ?(.*)$/.exec(header)!;
  const named = [...parameters.matchAll(/(\w+)="([^"]*)"(?:, |$)/g)].map(([, name, value]) => [name, value]);
  return { scheme: scheme!, ...Object.fromEntries(named) };
}

async function tokenOf(
  { id, scopes = [], resource = DOCUMENTS }: { id: string; scopes?: string[]; resource?: string },
  fields: Parameters<Platform['registerApp']>[0] = {},
): Promise<string> {
  const { platform } = await started();
  const { client } = await platform.registerApp(fields);
  return platform.auth.issueToken({ clientId: client.id, userId: id, resource, scopes });
}

const ANN = '1';
const BOB = '2';
const CLEO = '3';

test('each guard accepts the tokens of its API alone', async (t) => {
  const { platform } = await started();
  const paths = {
    [platform.origin]: '/api/v1/identity',
    [DOCUMENTS]: '/documents/list',
    [ARCHIVE]: '/archive/list',
  };
  for (const resource of Object.keys(paths)) {
    const token = await tokenOf({ id: ANN, resource });
    for (const [other, path] of Object.entries(paths)) {
      const expected = other === resource ? 200 : [401, 'token_invalid'];
      t.deepEqual(await statusOf(platform, path, token), expected, `${resource} at ${path}`);
      t.deepEqual(await statusOf(platform, path, token), expected, 'from the cache');
    }
  }
});

test('an API below the path of another one comes in front of it', async (t) => {
  await using nested = await startPlatform(APIS, {
    before: ({ auth }) => [
      createApiRouter({ auth, resource: ARCHIVE, prefix: '/api/v1/archive' }).routes() as Middleware,
    ],
    behind: ({ auth }) => [
      createApiRouter({ auth, resource: DOCUMENTS, prefix: '/api/v1/documents' }).routes() as Middleware,
    ],
  });
  const { client } = await nested.registerApp({});
  const tokenFor = async (resource: string) =>
    nested.auth.issueToken({ clientId: client.id, userId: ANN, resource });
  const ofArchive = await tokenFor(ARCHIVE);
  const ofDefault = await tokenFor(nested.origin);
  t.is(await statusOf(nested, '/api/v1/archive/identity', ofArchive), 200);
  t.deepEqual(await statusOf(nested, '/api/v1/archive/identity', ofDefault), [401, 'token_invalid']);
  t.is(await statusOf(nested, '/api/v1/identity', ofDefault), 200);
  const behind = await get(nested, '/api/v1/documents/identity', await tokenFor(DOCUMENTS));
  t.is(behind.status, 401);
  t.like(await behind.json(), {
    message: `The access token is for the API ${DOCUMENTS}, and this is ${nested.origin}.`,
  });
});

test('a 401 names the metadata of the API and its scopes', async (t) => {
  const { platform } = await started();
  const documents = { realm: DOCUMENTS, scope: 'read write', resource_metadata: METADATA };
  const response = await get(platform, '/documents/list');
  t.is(response.status, 401);
  t.deepEqual(parse(response), { scheme: 'Bearer', ...documents });
  t.deepEqual(parse(await get(platform, '/documents/list', 'a.b.AAAA')), {
    scheme: 'Bearer',
    ...documents,
    error: 'invalid_token',
    error_description: 'The access token has expired, or was not issued by this server for this API.',
  });
  t.deepEqual(parse(await get(platform, '/api/v1/schools')), {
    scheme: 'Bearer',
    realm: platform.origin,
    scope: 'schools:read schools:write',
    resource_metadata: `${platform.origin}/.well-known/oauth-protected-resource`,
  });
});

test('a 403 names the scopes that the operation needs', async (t) => {
  const { platform } = await started();
  const challenge = {
    scheme: 'Bearer',
    realm: DOCUMENTS,
    error: 'insufficient_scope',
    error_description: INSUFFICIENT,
    resource_metadata: METADATA,
  };
  const reading = await tokenOf({ id: CLEO, scopes: ['read'] });
  const both = await get(platform, '/documents/both', reading);
  t.is(both.status, 403);
  const problem = (await both.json()) as Record<string, unknown>;
  t.is(problem['code'], 'insufficient_scope');
  t.is(problem['message'], 'The access token needs the scopes read, write.');
  t.deepEqual(problem['scopes'], ['read', 'write']);
  t.deepEqual(parse(both), { ...challenge, scope: 'read write' });
  t.deepEqual(parse(await get(platform, '/documents/authorized', reading)), { ...challenge, scope: 'write' });
  const writing = await tokenOf({ id: CLEO, scopes: ['write'] });
  t.is(await statusOf(platform, '/documents/both', writing), 200);

  const empty = await tokenOf({ id: CLEO, resource: platform.origin, scopes: ['schools:write'] });
  t.is(parse(await get(platform, '/api/v1/schools', empty))?.['scope'], 'schools:read');
});

test('a 403 promises nothing when no scope would help', async (t) => {
  const { platform } = await started();
  // The user lacks one of the two permissions, or both.
  for (const id of [ANN, BOB]) {
    const token = await tokenOf({ id, scopes: ['read'] });
    const response = await get(platform, '/documents/both', token);
    t.is(response.status, 403);
    t.is(parse(response), undefined, id);
    t.is(parse(await get(platform, '/documents/authorized', token)), undefined, id);
  }
  // The client may not request the scope.
  const token = await tokenOf({ id: CLEO, scopes: ['read'] }, { scopes: ['read'] });
  for (const path of ['/documents/both', '/documents/authorized']) {
    const response = await get(platform, path, token);
    t.is(response.status, 403);
    t.is(parse(response), undefined, path);
  }
  // The API has no scope for the permission; a token without scopes has it.
  const archive = await tokenOf({ id: CLEO, scopes: ['read'], resource: ARCHIVE });
  const challenge = parse(await get(platform, '/archive/both', archive));
  t.is(challenge?.['error'], 'insufficient_scope');
  t.is(challenge?.['scope'], undefined);
  const { code, message, scopes } = (await (await get(platform, '/archive/both', archive)).json()) as Record<
    string,
    unknown
  >;
  t.deepEqual([code, message, scopes], ['insufficient_scope', INSUFFICIENT, undefined]);
});

test('the guard and the router of an API that the server does not have are refused at start', async (t) => {
  const { platform } = await started();
  const known = `${platform.origin}, ${DOCUMENTS}, ${ARCHIVE}`;
  const unknown = { resource: 'https://unknown.example' };
  const error = {
    code: 'ERR_CONFIG',
    message: `resource: the server has no such API; the APIs are ${known}`,
  };
  t.throws(() => platform.auth.guard(unknown), error);
  t.throws(() => createApiRouter({ auth: platform.auth, ...unknown }), error);
  t.throws(() => platform.auth.guard({ audience: DOCUMENTS } as object), {
    message: 'guard({ audience }): there is no such option; the options are resource, session',
  });
});

test('the prefix of an API is the path of its URL', async (t) => {
  const origin = 'https://platform.example';
  const auth = await createAuthServer({
    issuer: `${origin}/auth`,
    users: people(),
    storage: memoryStorage(),
    resources: { [`${origin}/auth/files`]: {}, [`${origin}/v2`]: {}, [DOCUMENTS]: {}, [ARCHIVE]: {} },
  });
  t.teardown(() => auth.close());
  const prefixOf = (resource: string): unknown =>
    createApiRouter({ auth, resource: resource as never }).opts.prefix;
  t.is(prefixOf(`${origin}/auth`), '/auth/api/v1');
  t.is(prefixOf(`${origin}/auth/files`), '/auth/files');
  t.is(prefixOf(`${origin}/v2`), '/v2');
  t.is(prefixOf(DOCUMENTS), '/v1');
  t.throws(() => createApiRouter({ auth, resource: ARCHIVE }), {
    message: "prefix: give a path with a leading and no trailing slash, such as '/api/v1'",
  });
});

test('the description of an API has its scopes and its URL', async (t) => {
  const { platform } = await started();
  const token = await tokenOf({ id: ANN });
  const description = (await (await get(platform, '/documents/openapi.json', token)).json()) as {
    components: { securitySchemes: Record<string, { flows: Record<string, { scopes: object }> }> };
  };
  const [scheme] = Object.values(description.components.securitySchemes);
  t.deepEqual(Object.keys(scheme!.flows['clientCredentials']!.scopes), ['read', 'write']);
});
