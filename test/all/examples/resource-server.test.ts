import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

import test from '../../harness/test.ts';
import { defineGate } from 'koa-gatehouse';
import { fakeClock, issueToken, testServer } from 'koa-gatehouse/testing';

import { createLibrary } from '../../../examples/resource-server.ts';
import { compileCache } from '../../harness/compile-cache.ts';
import { send } from '../../harness/requests.ts';
import type { Answer } from '../../harness/requests.ts';
import { listenerOf, serve } from '../../harness/serve.ts';
import { shared } from '../../harness/shared.ts';

const LIBRARY = 'https://library.example/v1';
const ann = { id: '1', name: 'Ann' };
const started = shared(async (stack) => {
  const school = await testServer({
    gate: defineGate({ permissions: { introspect_tokens: 'Introspect tokens' } }),
    scopes: { books: { description: 'Borrow books for you', permissions: [] } },
    resources: { [LIBRARY]: { name: 'Library' } },
    users: [ann],
  });
  const { client, secret } = await school.auth.clients.create({
    name: 'Library',
    grantType: 'client_credentials',
    permissions: ['introspect_tokens'],
  });
  const credentials = { issuer: school.origin, clientId: client.id, clientSecret: secret!.value };
  const library = createLibrary(credentials);
  library.silent = true;
  const served = await serve(() => listenerOf(library));
  stack.defer(async () => {
    await served[Symbol.asyncDispose]();
    await school.close();
  });
  return { school, client, secret, credentials, served };
});

async function request(token?: string, origin?: string): Promise<Answer> {
  const { served } = await started();
  return send(
    origin ?? served.origin,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  );
}

test('users and clients of the school platform get access', async (t) => {
  const { school, client } = await started();
  const user = await request(await issueToken(school.auth, { user: ann, scopes: ['books'] }));
  t.deepEqual(user.body, { data: { borrower: 'user 1', scopes: ['books'], books: ['Emil'] } });
  const job = await request(await issueToken(school.auth, { client }));
  t.like(job.body, { data: { borrower: `client ${client.id}`, scopes: [] } });
});

test('without a valid token the response is 401', async (t) => {
  const { school } = await started();
  t.is((await request()).headers.get('www-authenticate'), 'Bearer');
  await using other = await testServer({ users: [ann] });
  const [head, payload] = (await issueToken(school.auth, { user: ann })).split('.');
  for (const token of [
    'nonsense',
    await issueToken(other.auth, { user: ann }),
    `${head}.${payload}.${'A'.repeat(86)}`,
    'eyJhbGciOiJub25lIn0.e30.',
  ]) {
    const { headers, status } = await request(token);
    t.deepEqual([status, headers.get('www-authenticate')], [401, 'Bearer error="invalid_token"'], token);
  }
});

test.serial('a revoked token is accepted for at most five more seconds', async (t) => {
  const { school } = await started();
  const token = await issueToken(school.auth, { user: ann });
  t.is((await request(token)).status, 200);
  await school.auth.revoke({ token });
  using clock = fakeClock();
  clock.advance(5);
  t.is((await request(token)).status, 401);
});

test('a failure to fetch keys or to introspect is a 500, not a 401', async (t) => {
  const { school, credentials } = await started();
  const token = await issueToken(school.auth, { user: ann });
  for (const given of [{ clientSecret: 'wrong' }, { issuer: 'http://127.0.0.1:1' }]) {
    const app = createLibrary({ ...credentials, ...given });
    app.silent = true;
    await using broken = await serve(() => listenerOf(app));
    t.is((await request(token, broken.origin)).status, 500);
  }
});

test('with an API of its own, it accepts tokens for that one alone, and says where they are issued', async (t) => {
  const { school, client, secret } = await started();
  const file = resolve(import.meta.dirname, '../../../examples/resource-server.ts');
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['--conditions=gatehouse:source', file], {
    env: {
      PATH,
      ...compileCache,
      ISSUER: school.origin,
      CLIENT_ID: client.id,
      CLIENT_SECRET: secret!.value,
      RESOURCE: LIBRARY,
      PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill());
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const origin = /http:\S+/.exec(String(line))![0];
  t.is((await request(await issueToken(school.auth, { user: ann, resource: LIBRARY }), origin)).status, 200);
  t.is((await request(await issueToken(school.auth, { client, resource: LIBRARY }), origin)).status, 200);
  const refused = await request(await issueToken(school.auth, { user: ann }), origin);
  t.is(refused.status, 401);
  const metadata = 'https://library.example/.well-known/oauth-protected-resource/v1';
  t.is(
    refused.headers.get('www-authenticate'),
    `Bearer error="invalid_token", resource_metadata="${metadata}"`,
  );
  const published = await send(new URL(new URL(metadata).pathname, origin).href);
  t.is(published.headers.get('access-control-allow-origin'), '*');
  t.deepEqual(published.body, {
    resource: LIBRARY,
    authorization_servers: [school.origin],
    bearer_methods_supported: ['header'],
  });
  const token = await issueToken(school.auth, { user: ann, resource: LIBRARY });
  t.is((await request(token)).status, 401);
  t.is((await request(token, `${school.origin}/api/v1/identity`)).status, 401);
});
