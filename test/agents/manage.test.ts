import test from '../harness/test.ts';

import { CALLBACK } from './documents.ts';
import { like } from '../harness/like.ts';
import { runCodeFlow } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { altered, exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { AGENT, appOf, eventsOf, manage, register, registered, startOpen } from './apps.ts';

const started = shared(async (stack) => {
  const platform = await startOpen(stack, { registration: { scopes: ['schools:read', 'schools:write'] } });
  return { platform };
});

test('an app reads its registration; its secret is not known any more', async (t) => {
  const { platform } = await started();
  const registration = await registered(platform);
  const { body, headers, status } = await manage(registration, 'GET');
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  const { client_secret: _secret, client_secret_expires_at: _expires, ...rest } = registration;
  t.deepEqual(body, rest);
});

test('an app changes its registration, and keeps its token and its secret', async (t) => {
  const { platform } = await started();
  const registration = await registered(platform, { ...AGENT, scope: 'schools:read schools:write' });
  const { client_id, client_secret } = registration;
  const changed = {
    client_id,
    client_secret,
    client_name: 'Agent 2',
    redirect_uris: ['https://agent.example/new'],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: 'schools:write',
  };
  const { body, status, text } = await manage(registration, 'PUT', changed);
  t.is(status, 200, text);
  t.like(body, {
    ...changed,
    client_secret_expires_at: 0,
    registration_access_token: registration.registration_access_token,
  });
  like(t, await platform.auth.clients.find(client_id), {
    name: 'Agent 2',
    redirectUris: ['https://agent.example/new'],
    scopes: ['schools:write'],
    source: 'dynamic',
  });
  t.is((await manage(registration, 'GET')).body!['client_name'], 'Agent 2');
  t.deepEqual((await eventsOf(platform, client_id)).at(-1), {
    type: 'client_updated',
    clientId: client_id,
    fields: ['name', 'redirectUris', 'scopes'],
    address: '127.0.0.1',
  });
});

test('a change never gives an app more than the policy, or than it has', async (t) => {
  const { platform } = await started();
  const registration = await registered(platform, { ...AGENT, scope: 'schools:read schools:write' });
  const { client_id } = registration;
  const put = async (metadata: object) => manage(registration, 'PUT', { client_id, ...AGENT, ...metadata });
  // As an administrator does.
  await platform.auth.clients.update(client_id, { scopes: ['schools:read'] });
  t.is((await put({ scope: 'schools:read schools:write' })).body!['scope'], 'schools:read');
  t.is((await put({ scope: 'schools:write' })).body!['error'], 'invalid_client_metadata');
  t.is((await put({ scope: undefined })).body!['scope'], 'schools:read');
  like(t, await platform.auth.clients.find(client_id), {
    scopes: ['schools:read'],
    firstParty: false,
    roles: [],
    permissions: [],
  });
});

test('a change is checked as a registration is', async (t) => {
  let isAllowed = true;
  const strict = await startOpen(t, { registration: { allow: () => isAllowed } });
  const registration = await registered(strict);
  const { client_id, client_secret } = registration;
  const before = await strict.auth.clients.find(client_id);
  const cases: [metadata: object, error: string, description: RegExp][] = [
    [{ redirect_uris: ['http://a.example/'] }, 'invalid_redirect_uri', /^redirect_uris\[0\]: use https/],
    [{ redirect_uris: [] }, 'invalid_redirect_uri', /1 to 20/],
    [{ client_name: 'Acme Schools' }, 'invalid_client_metadata', /reserved/],
    [{ client_name: 'x'.repeat(50_000) }, 'invalid_client_metadata', /1 to 100/],
    [{ client_id: undefined }, 'invalid_client_metadata', /^client_id: /],
    [{ client_id: 'another' }, 'invalid_client_metadata', /^client_id: /],
    [{ client_secret: `${client_secret}x` }, 'invalid_client_metadata', /^client_secret: /],
    [{ client_secret: 1 }, 'invalid_client_metadata', /^client_secret: /],
    [{ registration_access_token: 'x' }, 'invalid_client_metadata', /leave it out/],
    [{ client_id_issued_at: 1 }, 'invalid_client_metadata', /leave it out/],
    [{ token_endpoint_auth_method: 'none' }, 'invalid_client_metadata', /cannot be changed/],
    [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata', /^grant_types/],
    [{ application_type: 'native' }, 'invalid_client_metadata', /cannot keep a secret/],
  ];
  for (const [metadata, error, description] of cases) {
    const { body, status, text } = await manage(registration, 'PUT', { client_id, ...AGENT, ...metadata });
    t.is(status, 400, text);
    t.is(body!['error'], error);
    t.regex(body!['error_description'] as string, description);
  }
  isAllowed = false;
  const refused = await manage(registration, 'PUT', { client_id, ...AGENT, client_name: 'New' });
  t.is(refused.body!['error_description'], 'the policy of this server refuses this app');
  t.deepEqual(await strict.auth.clients.find(client_id), before);
});

test('an app deletes itself with its tokens, and its token is refused afterwards', async (t) => {
  const { platform } = await started();
  const registration = await registered(platform);
  const app = await appOf(platform, registration);
  const { body: tokens } = await runCodeFlow(platform, app);
  t.is((await platform.api('/schools', tokens.access_token)).status, 200);
  const { status, text } = await manage(registration, 'DELETE');
  t.deepEqual({ status, text }, { status: 204, text: '' });
  t.is(await platform.auth.clients.find(registration.client_id), undefined);
  t.is((await platform.api('/schools', tokens.access_token)).status, 401);
  t.is((await exchangeRefreshToken(platform, app, tokens.refresh_token)).status, 401);
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const gone = await manage(registration, method, method === 'PUT' ? AGENT : undefined);
    t.is(gone.status, 401, method);
    t.regex(gone.headers.get('www-authenticate')!, /error="invalid_token"/);
  }
  t.like((await eventsOf(platform, registration.client_id)).at(-1), {
    type: 'client_deleted',
    actorId: undefined,
  });
});

test('a registration is managed with its own token only', async (t) => {
  const { platform } = await started();
  const [one, other] = [await registered(platform), await registered(platform)];
  const manual = await platform.registerApp();
  const { registration_access_token: token } = one;
  const wrong = [
    other.registration_access_token,
    altered(token),
    one.client_secret!,
    `${token} b`,
    'a'.repeat(8000),
  ];
  const attempts: readonly (readonly [id: string, authorization: string])[] = [
    ...['', `Basic ${token}`, 'Bearer ', ...wrong.map((odd) => `Bearer ${odd}`)].map(
      (authorization) => [one.client_id, authorization] as const,
    ),
    ...[manual.client.id, 'unknown', 'a'.repeat(255)].map((id) => [id, `Bearer ${token}`] as const),
  ];
  for (const [id, authorization] of attempts) {
    const attempt = { ...one, registration_client_uri: String(platform.url(`/oauth/register/${id}`)) };
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const metadata = method === 'PUT' ? { ...AGENT, client_id: id } : undefined;
      const { body, status } = await manage(attempt, method, metadata, { authorization });
      t.is(status, 401, `${method} ${id} ${authorization}`);
      t.is(body!['error'], 'invalid_token');
    }
  }
  t.is((await send(one.registration_client_uri)).status, 401);
  t.is((await manage(one, 'GET')).status, 200);
  t.is((await manage(one, 'PATCH')).status, 405);
  t.is((await send(platform.url(`/oauth/register/${'a'.repeat(256)}`))).status, 404);
});

test('a disabled app cannot manage itself back to life', async (t) => {
  const { platform } = await started();
  const registration = await registered(platform);
  const { client_id } = registration;
  await platform.auth.clients.disable(client_id);
  const disabled = await platform.auth.clients.find(client_id);
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const { body, status } = await manage(
      registration,
      method,
      method === 'PUT' ? { client_id, ...AGENT } : undefined,
    );
    t.is(status, 403, method);
    t.deepEqual(body, { error: 'access_denied', error_description: 'the app is disabled' });
  }
  t.deepEqual(await platform.auth.clients.find(client_id), disabled);
  await platform.auth.clients.enable(client_id);
  t.is((await manage(registration, 'PUT', { client_id, ...AGENT })).status, 200);
});

test('an app that an administrator disables during a change stays as it is', async (t) => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const strict = await startOpen(t, {
    registration: {
      async allow() {
        await meanwhile?.();
        return true;
      },
    },
  });
  const registration = await registered(strict);
  const { client_id } = registration;
  meanwhile = async () => strict.auth.clients.disable(client_id);
  const { status } = await manage(registration, 'PUT', { client_id, ...AGENT, client_name: 'New' });
  t.is(status, 403);
  t.like(await strict.auth.clients.find(client_id), { disabled: true, name: 'Agent' });
});

test('no token and no secret is stored, logged or recorded', async (t) => {
  const { platform } = await started();
  const { client_id, client_secret, registration_access_token: token } = await registered(platform);
  await register(platform, { ...AGENT, client_secret, software_statement: token });
  const seen = JSON.stringify([
    platform.logger.lines,
    await platform.auth.audit.list({ limit: 200 }),
    await platform.auth.clients.find(client_id),
    await platform.auth.clients.secrets(client_id),
  ]);
  for (const value of [client_secret!, token]) t.false(seen.includes(value));
  t.is((await platform.auth.clients.find(client_id))?.redirectUris[0], CALLBACK);
});
