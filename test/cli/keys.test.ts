import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { startPlatform } from '../harness/platform.ts';
import { gatehouse, gatehouseJson } from './gatehouse.ts';

interface KeysDocument {
  readonly keys: readonly { readonly kid: string; readonly status: string }[];
  readonly key: { readonly kid: string; readonly status: string };
  readonly notes: readonly string[];
}

const KEY = 'a key-encryption key of more than 32 characters';

async function migrated(): Promise<string> {
  const address = `sqlite:${temporaryFile()}`;
  const storage = knexStorage(address);
  await storage.migrate();
  await storage.close();
  return address;
}

test('servers publish a key created on the command line, and accept tokens of the previous one', async (t) => {
  const DATABASE_URL = await migrated();
  await using platform = await startPlatform({
    storage: knexStorage(DATABASE_URL),
    tokens: { algorithm: 'RS256' },
  });
  const { client, secret } = await platform.registerService(['view_schools']);
  const { body } = await platform.token({
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: secret,
  });

  const { key } = await gatehouseJson<KeysDocument>('keys rotate --after 0', { DATABASE_URL });
  const { keys } = await gatehouseJson<KeysDocument>('keys list', { DATABASE_URL });
  t.deepEqual(
    keys.map(({ status }) => status),
    ['active', 'retired'],
  );
  t.is(keys[0]!.kid, key.kid);

  // A second server on the same database.
  await using second = await startPlatform({
    storage: knexStorage(DATABASE_URL),
    tokens: { algorithm: 'RS256' },
  });
  t.is(second.auth.keys.list()[0]!.id, key.kid);
  t.is(second.auth.keys.list()[0]!.status, 'active');
  t.is(((await (await fetch(second.url('/oauth/jwks'))).json()) as { keys: unknown[] }).keys.length, 2);
  t.is((await platform.api('/schools', body.access_token)).status, 200);
});

test('keys are encrypted with KEY_ENCRYPTION_KEY, and creating one needs the key of the existing ones', async (t) => {
  const DATABASE_URL = await migrated();
  const first = await gatehouseJson<KeysDocument>('keys rotate', {
    DATABASE_URL,
    KEY_ENCRYPTION_KEY: KEY,
  });
  t.is(first.key.status, 'active');
  t.deepEqual(first.notes, ['It is encrypted: every server needs the same secrets.keyEncryptionKey.']);
  const storage = knexStorage(DATABASE_URL);
  t.notRegex((await storage.keys.list('token'))[0]!.material, /"kty"/);

  const without = await gatehouse('keys rotate', { DATABASE_URL });
  t.deepEqual(
    [without.code, without.errors],
    [
      2,
      "secrets.keyEncryptionKey: the server's keys are encrypted; give the secrets.keyEncryptionKey of the servers.\n",
    ],
  );
  const other = await gatehouse('keys rotate', { DATABASE_URL, KEY_ENCRYPTION_KEY: KEY.toUpperCase() });
  t.is(other.code, 2);
  t.regex(other.errors, /^secrets.keyEncryptionKey: the server's keys were encrypted with another one/);
  t.is((await storage.keys.list('token')).length, 1);
  await storage.close();

  const listed = await gatehouse('keys list', { DATABASE_URL });
  t.is(listed.code, 0);
  t.true(listed.output.includes(`${first.key.kid}  access tokens  active  `));
});

test('a key signs after a minute, as with auth.keys.rotate(), because verifiers cache the published keys', async (t) => {
  const DATABASE_URL = await migrated();
  await gatehouseJson<KeysDocument>('keys rotate', { DATABASE_URL });
  const { key, notes } = await gatehouseJson<KeysDocument>('keys rotate', { DATABASE_URL });
  t.is(key.status, 'next');
  t.is(notes[0], 'It signs in 60 s, when every server knows it.');
});

test('in production, creating keys needs KEY_ENCRYPTION_KEY or an explicit false', async (t) => {
  const DATABASE_URL = await migrated();
  const production = { DATABASE_URL, NODE_ENV: 'production' };
  const { code, errors } = await gatehouse('keys rotate', production);
  t.is(code, 2);
  t.regex(errors, /^secrets.keyEncryptionKey: give a random string .*KEY_ENCRYPTION_KEY/);
  t.is((await gatehouse('keys list', production)).code, 0, 'listing needs no key');

  const plain = await gatehouseJson<KeysDocument>('keys rotate', {
    ...production,
    KEY_ENCRYPTION_KEY: 'false',
  });
  t.deepEqual(plain.notes, ['It is stored unencrypted; set KEY_ENCRYPTION_KEY to encrypt it.']);
  const doctor = await gatehouse('doctor', { DATABASE_URL, KEY_ENCRYPTION_KEY: 'false' });
  t.regex(doctor.output, /keys_unencrypted/);
});

test('a key-encryption key that is too short is an error', async (t) => {
  const { code, errors } = await gatehouse('keys list', {
    DATABASE_URL: await migrated(),
    KEY_ENCRYPTION_KEY: 'short',
  });
  t.is(code, 2);
  t.is(errors, 'secrets.keyEncryptionKey: give random strings of at least 32 characters, newest first.\n');
});
