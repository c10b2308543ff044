import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import test from '../../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { openDatabase } from '../../../examples/server/database.ts';
import { keyEncryptionKeyIn } from '../../../examples/server/key-encryption-key.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { postJson, send } from '../../harness/requests.ts';
import { runExample, startForScripts, temporaryDirectory } from '../../examples/running-example.ts';
import type { Announced } from '../../examples/running-example.ts';
import { serveExample } from '../../examples/served-example.ts';

async function start(given: Parameters<typeof serveExample>[0]): Promise<Announced> {
  await using example = await serveExample(given);
  return example.announced;
}

test('a second start keeps the data, tells no secret, and adds redirect URIs once', async (t) => {
  await using directory = await temporaryDirectory();
  const dataDirectory = directory.path;
  const uri = 'http://localhost:8080/callback';
  const first = await start({ dataDirectory });
  const later = { dataDirectory, environment: { BASE_URL: first.base_url }, redirectUris: [uri] };
  const second = await start(later);
  t.deepEqual(await start(later), second);
  t.deepEqual(ids(second), ids(first));
  t.true(second.clients.every(({ client_secret: secret }) => secret === null));
  t.true(second.users.every(({ password }) => password === null));
  for (const [index, client] of second.clients.entries()) {
    const before = first.clients[index]!.redirect_uris;
    t.deepEqual(client.redirect_uris, client.grant_type === 'authorization_code' ? [...before, uri] : []);
  }

  await using renewed = await serveExample({ dataDirectory, newSecrets: true });
  const { announced } = renewed;
  t.deepEqual(ids(announced), ids(first));
  t.is(await statusOfToken(announced, announced), 200);
  t.is(await statusOfToken(announced, first), 401);
  t.not(announced.users[0]!.password, first.users[0]!.password);
});

test('two nodes that start at once share one database, and one of them seeds it', async (t) => {
  await using directory = await temporaryDirectory();
  const folders = ['one', 'two'].map((name) => join(directory.path, name));
  const environment = {
    BASE_URL: 'http://localhost:3999',
    DATABASE_URL: `sqlite:${join(directory.path, 'shared.sqlite')}`,
  };
  const nodes = await Promise.all(
    folders.map(async (dataDirectory) => start({ dataDirectory, environment })),
  );
  t.deepEqual(ids(nodes[0]!), ids(nodes[1]!));
  const knowing = nodes.filter(({ users }) => users.every(({ password }) => password !== null));
  t.is(knowing.length, 1);
  // Each node's portal has its own secret, because each node has its own data directory.
  const [one, two] = await Promise.all(
    folders.map(async (folder) => JSON.parse(await readFile(join(folder, 'partner-portal.json'), 'utf8'))),
  );
  t.is(one.clientId, two.clientId);
  t.not(one.clientSecret, two.clientSecret);
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
  await using second = await serveExample({ dataDirectory });
  t.is(await statusOfToken(second.announced, first.announced), 200);
});

test('a data directory without a key-encryption key works after an update', async (t) => {
  await using directory = await temporaryDirectory();
  const dataDirectory = directory.path;
  const storage = knexStorage(`sqlite:${join(dataDirectory, 'platform.sqlite')}`);
  await storage.migrate();
  const operator = createAdministration({ storage, secrets: { keyEncryptionKey: false } });
  const { id } = await operator.signingKeys.rotate();
  await operator.close();

  await using example = await serveExample({ dataDirectory });
  const { body } = await send(`${example.announced.base_url}/oauth/jwks`);
  t.deepEqual(
    (body!['keys'] as { kid: string }[]).map(({ kid }) => kid),
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

function ids({ clients }: Announced): readonly string[] {
  return clients.map(({ client_id: id }) => id);
}

async function statusOfToken(running: Announced, { clients }: Announced): Promise<number> {
  const { client_id, client_secret } = clients.find(({ name }) => name === 'Nightly import')!;
  const request = { grant_type: 'client_credentials', client_id, client_secret };
  return (await postJson(`${running.base_url}/oauth/token`, request)).status;
}
