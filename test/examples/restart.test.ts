import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import test from 'ava';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { openDatabase } from '../../examples/server/database.ts';
import { keyEncryptionKeyIn } from '../../examples/server/key-encryption-key.ts';
import { runExample, startForScripts, temporaryDirectory } from './running-example.ts';
import type { Announced } from './running-example.ts';
import { connectHost } from '../adapters/host-knex.ts';

test('a second start keeps the data, prints no secret, and adds redirect URIs once', async (t) => {
  await using directory = await temporaryDirectory();
  const dataDirectory = directory.path;
  const uri = 'http://localhost:8080/callback';

  const first = await startForScripts({ dataDirectory });
  await first.stop();
  const environment = { BASE_URL: first.announced.base_url };
  const second = await startForScripts({ dataDirectory, environment, arguments: ['--redirect-uri', uri] });
  await second.stop();
  const third = await startForScripts({ dataDirectory, environment, arguments: ['--redirect-uri', uri] });
  t.deepEqual(third.announced, second.announced);
  t.deepEqual(ids(second.announced), ids(first.announced));
  t.true(second.announced.clients.every(({ client_secret: secret }) => secret === null));
  t.true(second.announced.users.every(({ password }) => password === null));
  for (const [index, client] of second.announced.clients.entries()) {
    const before = first.announced.clients[index]!.redirect_uris;
    t.deepEqual(client.redirect_uris, client.grant_type === 'authorization_code' ? [...before, uri] : []);
  }
  t.is(await third.stop(), 0);
});

test('with new secrets, the old ones are invalid', async (t) => {
  await using directory = await temporaryDirectory();
  const first = await startForScripts({ dataDirectory: directory.path });
  await first.stop();
  const second = await startForScripts({ dataDirectory: directory.path, arguments: ['--new-secrets'] });
  t.deepEqual(ids(second.announced), ids(first.announced));
  t.is(await statusOfToken(second.announced, second.announced), 200);
  t.is(await statusOfToken(second.announced, first.announced), 401);
  t.not(second.announced.users[0]!.password, first.announced.users[0]!.password);
  await second.stop();
});

test('two nodes that start at once share one database, and one of them seeds it', async (t) => {
  await using directory = await temporaryDirectory();
  const nodes = await Promise.all(
    ['one', 'two'].map((name) =>
      startForScripts({
        dataDirectory: join(directory.path, name),
        environment: {
          BASE_URL: 'http://localhost:3999',
          DATABASE_URL: `sqlite:${join(directory.path, 'shared.sqlite')}`,
        },
      }),
    ),
  );
  const [seeder, other] = nodes.toSorted(
    (a, b) => Number(knowsSecrets(b.announced)) - Number(knowsSecrets(a.announced)),
  );
  t.true(knowsSecrets(seeder!.announced));
  t.false(knowsSecrets(other!.announced));
  t.deepEqual(ids(other!.announced), ids(seeder!.announced));
  // Each node's portal has its own secret, because each node has its own data directory.
  const [one, two] = await Promise.all(['one', 'two'].map((name) => readPortal(join(directory.path, name))));
  t.is(one!.clientId, two!.clientId);
  t.not(one!.clientSecret, two!.clientSecret);
  await Promise.all(nodes.map((node) => node.stop()));
});

test('a node waits while another one puts a new file into WAL mode', async (t) => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, 'shared.sqlite');
  const other = connectHost('better-sqlite3', `sqlite:${file}`);
  t.teardown(async () => other.destroy());
  const transaction = await other.transaction();
  await transaction.raw('create table t (a)');
  const opening = openDatabase(`sqlite:${file}`);
  t.is(await Promise.race([opening, delay(200, 'waits')]), 'waits');
  await transaction.commit();
  const database = await opening;
  t.teardown(async () => database.destroy());
  t.deepEqual(await database.raw('pragma journal_mode'), [{ journal_mode: 'wal' }]);
});

test('the key that encrypts the signing keys is in a separate file, outside of the database', async (t) => {
  await using directory = await temporaryDirectory();
  const dataDirectory = directory.path;
  const first = await startForScripts({ dataDirectory, environment: { NODE_ENV: 'production' } });
  t.is(await statusOfToken(first.announced, first.announced), 200);
  await first.stop();

  const file = join(dataDirectory, 'key-encryption-key');
  t.is((await stat(file)).mode & 0o777, 0o600);
  const key = await readFile(file, 'utf8');
  t.regex(key, /^[\w-]{43}\n$/);
  const storage = knexStorage(`sqlite:${join(dataDirectory, 'platform.sqlite')}`);
  const storedKeys = [...(await storage.keys.list('token')), ...(await storage.keys.list('cookie'))];
  await storage.close();
  t.is(storedKeys.length, 2);
  for (const { material } of storedKeys) t.regex(material, /^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);

  await rm(file);
  const without = await runExample({ dataDirectory });
  t.is(without.code, 1);
  t.regex(without.errors, /^KEY_ENCRYPTION_KEY: the server's keys were encrypted with another one/);
  await writeFile(file, key);
  await using second = await startForScripts({ dataDirectory });
  t.is(await statusOfToken(second.announced, first.announced), 200);
});

test('a data directory without a key-encryption key works after an update', async (t) => {
  await using directory = await temporaryDirectory();
  const dataDirectory = directory.path;
  const address = `sqlite:${join(dataDirectory, 'platform.sqlite')}`;
  const storage = knexStorage(address);
  await storage.migrate();
  const operator = createAdministration({ storage, secrets: { keyEncryptionKey: false } });
  const { id } = await operator.keys.rotate();
  await operator.close();

  await using example = await startForScripts({ dataDirectory });
  const { base_url: origin } = example.announced;
  const { keys } = (await (await fetch(`${origin}/oauth/jwks`)).json()) as { keys: { kid: string }[] };
  t.deepEqual(
    keys.map(({ kid }) => kid),
    [id],
  );
  t.is(await statusOfToken(example.announced, example.announced), 200);
});

test('processes that start at once in an empty folder share one key', async (t) => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'folder', 'key-encryption-key');
  const keys = await Promise.all(Array.from({ length: 20 }, async () => keyEncryptionKeyIn(path)));
  t.is(new Set(keys).size, 1);
  t.is(keys[0]!.length, 43);
  t.deepEqual(await readdir(join(directory.path, 'folder')), ['key-encryption-key']);
});

async function readPortal(dataDirectory: string): Promise<{ clientId: string; clientSecret: string }> {
  return JSON.parse(await readFile(join(dataDirectory, 'partner-portal.json'), 'utf8'));
}

function ids({ clients }: Announced): readonly string[] {
  return clients.map(({ client_id: id }) => id);
}

function knowsSecrets({ users }: Announced): boolean {
  return users.every(({ password }) => password !== null);
}

async function statusOfToken(running: Announced, { clients }: Announced): Promise<number> {
  const { client_id: id, client_secret: secret } = clients.find(({ name }) => name === 'Nightly import')!;
  const body = JSON.stringify({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${running.base_url}/oauth/token`, { method: 'POST', headers, body })).status;
}
