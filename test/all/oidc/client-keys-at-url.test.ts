import type { RequestListener } from 'node:http';

import test from '../../harness/test.ts';
import { defineGate } from 'koa-gatehouse';
import type { AuthServer } from 'koa-gatehouse';

import { assertionParameters, makeKeyPair } from '../../harness/client-keys.ts';
import type { ClientKeyPair } from '../../harness/client-keys.ts';
import { passTime } from '../../harness/clock.ts';
import { runCodeFlow, startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { json, ON_LOOPBACK, servePublic } from '../../harness/public-server.ts';
import { postForm } from '../../harness/requests.ts';
import { shared } from '../../harness/shared.ts';

const started = shared(async () => {
  const pair = await makeKeyPair();
  return { pair };
});

const OPTIONS = { clients: { privateKeyJwt: true }, limits: { attempts: false } } as const;

async function registerWith(platform: Platform, jwksUri: string): Promise<string> {
  const fields = { name: 'Nightly', grantType: 'client_credentials' as const, keys: { jwksUri } };
  return (await platform.auth.clients.create(fields)).client.id;
}

async function ask(platform: Platform, id: string, by?: ClientKeyPair): Promise<number> {
  const { pair } = await started();
  const parameters = await assertionParameters(id, platform.auth.issuer, by ?? pair);
  return (await platform.token({ grant_type: 'client_credentials', ...parameters })).status;
}

test.serial(
  'a client authenticates with a key at its jwks_uri, and with the next one after a rotation',
  async (t) => {
    const { pair } = await started();
    const next = await makeKeyPair('key-2');
    let keys = [pair.publicJwk];
    await using site = await servePublic((request, response) => json({ keys })(request, response));
    // The client itself is not read again in the time of the test.
    await using platform = await startPlatform(
      { ...OPTIONS, tokens: { revocationLag: '1 hour' } },
      ON_LOOPBACK,
    );
    const id = await registerWith(platform, `${site.origin}/jwks`);
    t.is(await ask(platform, id), 200);
    keys = [pair.publicJwk, next.publicJwk];
    t.is(await ask(platform, id, next), 401, 'fetched less than a minute ago');
    passTime(60);
    t.is(await ask(platform, id, next), 401, 'fetched for the next request');
    while ((await ask(platform, id, next)) !== 200) await new Promise(setImmediate);
    t.is(site.requests.length, 2);
    t.is(await ask(platform, id), 200);
    keys = [next.publicJwk];
    passTime(300);
    t.is(await ask(platform, id), 401);
    t.is(await ask(platform, id, next), 200);
    t.is(site.requests.length, 3);
  },
);

test.serial('assertions of strangers cause at most one request a minute to a client’s URL', async (t) => {
  const { pair } = await started();
  await using site = await servePublic(json({ keys: [pair.publicJwk] }));
  await using platform = await startPlatform(OPTIONS, ON_LOOPBACK);
  const id = await registerWith(platform, `${site.origin}/jwks`);
  for (let count = 0; count < 5; count += 1)
    t.is(await ask(platform, id, { ...pair, publicJwk: { kid: `unknown ${count}` } }), 401);
  const stranger = await makeKeyPair();
  t.is(await ask(platform, id, stranger), 401, 'a known kid');
  t.is(await ask(platform, id), 200);
  await platform.auth.clients.disable(id);
  t.is(await ask(platform, id), 401, 'whatever the age of its keys');
  await platform.auth.clients.enable(id);
  t.is(await ask(platform, id), 200);
  t.is(site.requests.length, 1);
});

test.serial(
  'a secret, and an introspection of its token by another client, fetch no keys of a client',
  async (t) => {
    const { pair } = await started();
    await using site = await servePublic(json({ keys: [pair.publicJwk] }));
    const gated = defineGate({
      permissions: { view_schools: 'View', edit_schools: 'Edit', introspect_tokens: 'Introspect' },
      roles: { registrar: [] },
    });
    await using platform = await startPlatform({ ...OPTIONS, gate: gated as never }, ON_LOOPBACK);
    const { clients } = platform.auth as unknown as AuthServer;
    const app = await platform.registerApp({ firstParty: true });
    await clients.update(app.client.id, { keys: { jwksUri: `${site.origin}/jwks` } });
    const { body } = await runCodeFlow(platform, app);

    const { client: other } = await clients.create({
      name: 'Other',
      grantType: 'client_credentials',
      permissions: ['introspect_tokens'],
      keys: { jwks: { keys: [pair.publicJwk] } },
    });
    const answer = await postForm(platform.url('/oauth/introspect'), {
      token: body.access_token,
      ...(await assertionParameters(other.id, platform.auth.issuer, pair)),
    });
    t.like(answer, { status: 200, body: { active: true, client_id: app.client.id } });
    t.deepEqual(site.requests, []);
  },
);

const HOSTILE: Readonly<Record<string, RequestListener>> = {
  'an endless document': (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = (): void => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', more);
    };
    more();
  },
  'a private key': (request, response) =>
    void started().then(({ pair }) => json({ keys: [pair.privateJwk] })(request, response)),
};

for (const [name, listener] of Object.entries(HOSTILE)) {
  test.serial(`the URL of the keys answers with ${name}: 401, and the log says why`, async (t) => {
    await using site = await servePublic(listener);
    await using platform = await startPlatform(OPTIONS, ON_LOOPBACK);
    const id = await registerWith(platform, `${site.origin}/jwks`);
    for (let count = 0; count < 2; count += 1) t.is(await ask(platform, id), 401);
    t.is(site.requests.length, 1);
    const [record] = await platform.auth.audit.list({ types: ['token_refused'] });
    const reason = String(record && 'reason' in record && record.reason);
    t.regex(reason, /^the keys of the client could not be fetched: /);
    t.is(platform.logger.lines.filter(({ level }) => level === 'warn').length, 1);
  });
}

test.serial('a URL that answers slowly costs five seconds, once a minute', async (t) => {
  await using site = await servePublic((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
  });
  await using platform = await startPlatform(OPTIONS, ON_LOOPBACK);
  const id = await registerWith(platform, `${site.origin}/jwks`);
  const before = performance.now();
  t.deepEqual(await Promise.all([ask(platform, id), ask(platform, id)]), [401, 401]);
  t.is(await ask(platform, id), 401);
  t.true(performance.now() - before < 10_000);
  t.is(site.requests.length, 1);
});

test.serial('without a network for tests, private addresses are reached by no URL', async (t) => {
  const { pair } = await started();
  await using site = await servePublic(json({ keys: [pair.publicJwk] }));
  await using platform = await startPlatform({
    clients: { privateKeyJwt: true },
    limits: { attempts: false },
  });
  const { port } = new URL(site.origin);
  for (const host of ['169.254.169.254', '[::ffff:127.0.0.1]', '0x7f.2', 'localhost.']) {
    const id = await registerWith(platform, `https://${host}:${port}/jwks`).catch(() => undefined);
    if (id !== undefined) t.is(await ask(platform, id), 401, host);
  }
  t.is(site.connections(), 0);
});
