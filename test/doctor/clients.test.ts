import test from '../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import type { Administration, Client, ClientFields, Finding } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { makeKeyPair } from '../harness/client-keys.ts';
import { gate, startPlatform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import type { ClientRegistry } from '../../lib/contracts/client-registry.ts';

async function administration(storage = memoryStorage()): Promise<Administration> {
  const made = createAdministration({ storage });
  await made.signingKeys.rotate();
  return made;
}

const SERVICE: ClientFields = { name: 'Nightly', grantType: 'client_credentials' };

/** Registers a client that gets no tokens. */
async function registerWithoutSecret(clients: ClientRegistry, fields = SERVICE): Promise<void> {
  const { client, secret } = await clients.create(fields);
  await clients.deleteSecret(client.id, secret!.id);
}

function codes(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ code }) => code);
}

test('a client with keys needs no secret, and one that is left is reported', async (t) => {
  const operator = await administration();
  const { clients } = operator;
  const { publicJwk } = await makeKeyPair();
  const { client } = await clients.create({ ...SERVICE, keys: { jwks: { keys: [publicJwk] } } });
  t.deepEqual(await operator.doctor(), []);
  const secret = await clients.addSecret(client.id);
  t.deepEqual(await operator.doctor(), [
    {
      code: 'secret_besides_keys',
      severity: 'warning',
      message: `Clients with keys also have valid secrets, so that a stolen secret is enough: "Nightly" (${client.id}).`,
      remedy: 'When the app uses its keys, delete them with `gatehouse client secrets delete`.',
    },
  ]);
  await clients.deleteSecret(client.id, secret.id);
  t.deepEqual(await operator.doctor(), []);
});

test('confidential clients without a valid secret, or with one that expires soon, are reported', async (t) => {
  const storage = memoryStorage();
  const operator = createAdministration({ storage });
  await operator.signingKeys.rotate();
  const { clients } = operator;
  const check = async (): Promise<readonly Finding[]> => operator.doctor();
  const { client } = await clients.create(SERVICE);
  const [first] = await clients.secrets(client.id);
  const now = Math.floor(Date.now() / 1000);

  const { id } = await clients.addSecret(client.id, { expiresAt: now + 3 * 86_400 });
  const secret = (await storage.clients.find(client.id))!.secrets.find((one) => one.id === id)!;
  t.deepEqual(await check(), [], 'another secret is valid for longer');
  await clients.deleteSecret(client.id, first!.id);
  const day = new Date((now + 3 * 86_400) * 1000).toISOString().slice(0, 10);
  t.deepEqual(await check(), [
    {
      code: 'secret_expires_soon',
      severity: 'warning',
      message: `The last valid secret expires within two weeks: "Nightly" (${client.id}, ${day}).`,
      remedy: 'Add another with `gatehouse client secrets add` and give it to the app.',
    },
  ]);
  await clients.deleteSecret(client.id, secret.id);
  t.deepEqual(await check(), [
    {
      code: 'client_without_secret',
      severity: 'warning',
      message: `Confidential clients without a valid secret get no tokens: "Nightly" (${client.id}).`,
      remedy: 'Add one with `gatehouse client secrets add`, or disable the client.',
    },
  ]);
  await storage.clients.addSecret(client.id, { ...secret, expiresAt: now - 86_400 });
  const since = new Date((now - 86_400) * 1000).toISOString().slice(0, 10);
  t.regex((await check())[0]!.message, new RegExp(`: "Nightly" \\(${client.id}, since ${since}\\)\\.$`));
});

test('roles, permissions and scopes that the gate does not define are reported, if there is a gate', async (t) => {
  const storage = memoryStorage();
  const without = createAdministration({ storage });
  await without.signingKeys.rotate();
  const { client } = await without.clients.create({
    ...SERVICE,
    roles: ['janitor'],
    permissions: ['view_schools', 'burn_schools'],
    scopes: ['schools:read', 'schools:burn'],
  });
  t.deepEqual(await without.doctor(), []);
  const scopes = { 'schools:read': { description: 'See your schools', permissions: [] } };
  const found = await createAdministration({ storage, gate, scopes }).doctor();
  t.deepEqual(
    found.map(({ code, message }) => [code, message]),
    [
      [
        'role_unknown',
        `Clients have a role that the gate does not define: "Nightly" (${client.id}, janitor).`,
      ],
      [
        'permission_unknown',
        `Clients have a permission that the gate does not define: "Nightly" (${client.id}, burn_schools).`,
      ],
      [
        'scope_unknown',
        `Clients have a scope that the server does not define: "Nightly" (${client.id}, schools:burn).`,
      ],
    ],
  );
});

test('clients are read in pages, and a message names the first three', async (t) => {
  const storage = memoryStorage();
  const { signingKeys: keys, clients } = createAdministration({ storage });
  await keys.rotate();
  for (let number = 0; number < 234; number += 1)
    await registerWithoutSecret(clients, { ...SERVICE, name: `Client ${number}` });
  let underway = 0;
  let most = 0;
  const pages: number[] = [];
  const watched = around(storage, async (name, call) => {
    underway += 1;
    most = Math.max(most, underway);
    const result = await call();
    underway -= 1;
    if (name === 'clients.list') pages.push((result as readonly Client[]).length);
    return result;
  });
  const [found, ...others] = await createAdministration({ storage: watched }).doctor();
  t.deepEqual(others, []);
  t.regex(
    found!.message,
    /: "Client 0" \([^,]+\), "Client 1" \([^,]+\), "Client 10" \([^,]+\) and 231 more\.$/,
  );
  t.deepEqual(pages, [100, 100, 34]);
  t.true(most <= 10, `${most} at once`);
});

test('a server checks itself, cookie keys included', async (t) => {
  const storage = memoryStorage();
  await using platform = await startPlatform({
    storage,
    secrets: { cookieKeys: ['ab'.repeat(20), 'x9Kq2vLm8RtYw3ZpNc7HdFsJbGuEoAi5'] },
  });
  await registerWithoutSecret(platform.auth.clients);
  const found = await platform.auth.doctor();
  t.deepEqual(codes(found), ['cookie_keys_weak', 'client_without_secret']);
  t.like(found[0], {
    severity: 'error',
    message:
      'A cookie key is made of very few different characters and easy to guess, so sessions can be forged.',
  });
  await using other = await startPlatform();
  t.deepEqual(await other.auth.doctor(), []);
});
