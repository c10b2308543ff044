import test from 'ava';
import { createAdministration } from 'koa-gatehouse';
import type { Finding, Storage, StorageTypes } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { startPlatform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';

const KEY = 'a key-encryption key of more than 32 characters';
const OTHER = 'another key-encryption key of more than 32 characters';

/** A storage that reports itself as durable, like a database. */
function durableStorage(): Storage {
  return { ...memoryStorage(), durable: true };
}

async function rotated(keyEncryptionKey?: string): Promise<Storage> {
  const storage = durableStorage();
  await createAdministration({
    storage,
    ...(keyEncryptionKey ? { secrets: { keyEncryptionKey } } : {}),
  }).keys.rotate();
  return storage;
}

async function check(
  storage: Storage,
  keyEncryptionKey?: string | string[] | false,
): Promise<readonly Finding[]> {
  return createAdministration({
    storage,
    ...(keyEncryptionKey === undefined ? {} : { secrets: { keyEncryptionKey } }),
  }).check();
}

test('a storage without a signing key is a warning', async (t) => {
  t.like(await check(memoryStorage()), [
    {
      code: 'signing_key_missing',
      severity: 'warning',
      message: 'There is no signing key.',
      remedy: 'Start a server, which creates one, or run `gatehouse keys rotate`.',
    },
  ]);
});

test('encrypted keys are reported only with another secrets.keyEncryptionKey, not with the right one or none', async (t) => {
  const storage = await rotated(KEY);
  t.deepEqual(await check(storage, KEY), []);
  const [{ id }] = (await storage.keys.list('token')) as [StorageTypes.StoredKey];
  t.like(await check(storage, OTHER), [
    {
      code: 'keys_unreadable',
      severity: 'error',
      message: `1 key of the server is encrypted with another secrets.keyEncryptionKey than the given one, or damaged: token ${id} (active).`,
    },
  ]);
  t.like(await check(storage), [{ code: 'keys_not_checked', severity: 'warning' }]);
});

test('each key that needs a former secrets.keyEncryptionKey is named, until it is encrypted anew', async (t) => {
  const storage = durableStorage();
  await startPlatform({ storage, secrets: { keyEncryptionKey: KEY } }).then(async (platform) =>
    platform[Symbol.asyncDispose](),
  );
  const both = createAdministration({ storage, secrets: { keyEncryptionKey: [OTHER, KEY] } });
  await both.keys.rotate();
  const [first] = (await storage.keys.list('token')) as [StorageTypes.StoredKey];
  const [cookie] = (await storage.keys.list('cookie')) as [StorageTypes.StoredKey];
  t.deepEqual(await both.check(), [
    {
      code: 'keys_need_former',
      severity: 'warning',
      message: `2 keys of the server are encrypted with a former secrets.keyEncryptionKey, which servers still need: token ${first.id} (active), cookie ${cookie.id} (active).`,
      remedy:
        'When all servers have the new secrets.keyEncryptionKey, first in the list, run `gatehouse keys encrypt` with KEY_ENCRYPTION_KEY set to the same list. Then remove the former one.',
    },
  ]);
  t.is(await both.keys.encrypt(), 3);
  t.deepEqual(await both.check(), []);
  t.deepEqual(await check(storage, OTHER), []);
});

test('a damaged key is reported', async (t) => {
  const damaged = around(await rotated(KEY), async (name, call) => {
    const result = await call();
    if (name !== 'keys.list') return result;
    const [key] = result as readonly { material: string }[];
    return key ? [{ ...key, material: `${key.material.slice(0, -4)}AAAA` }] : [];
  });
  t.like(await check(damaged, KEY), [{ code: 'keys_unreadable', severity: 'error' }]);
});

test('unencrypted keys are reported if there is a keyEncryptionKey', async (t) => {
  t.like(await check(await rotated(), KEY), [
    {
      code: 'keys_unencrypted',
      severity: 'warning',
      message: '1 key of the server is stored unencrypted: anyone who reads the database can make tokens.',
    },
  ]);
});

test('unencrypted keys are reported with keyEncryptionKey: false, but not in memory', async (t) => {
  t.like(await check(await rotated(), false), [{ code: 'keys_unencrypted', severity: 'warning' }]);
  const storage = memoryStorage();
  await createAdministration({ storage }).keys.rotate();
  t.deepEqual(await check(storage, false), []);
});

test.serial('unencrypted keys are reported in production', async (t) => {
  const storage = await rotated();
  t.deepEqual(await check(storage), []);
  process.env['NODE_ENV'] = 'production';
  try {
    t.like(await check(storage), [
      {
        code: 'keys_unencrypted',
        remedy:
          'Set secrets.keyEncryptionKey on the servers, then run `gatehouse keys encrypt` with KEY_ENCRYPTION_KEY set to it.',
      },
    ]);
  } finally {
    process.env['NODE_ENV'] = 'test';
  }
});

test('a signing key older than its rotation interval is reported', async (t) => {
  t.deepEqual(await check(aged(await rotated(), 90)), []);
  t.like(await check(aged(await rotated(), 120)), [
    {
      code: 'signing_key_old',
      severity: 'warning',
      message: 'The newest signing key is 120 days old; a new one was due after 90.',
    },
  ]);
});

/** The storage with its only key older by some days. */
function aged(storage: Storage, days: number): Storage {
  return around(storage, async (name, call) => {
    const result = await call();
    if (name !== 'keys.list') return result;
    const [key] = result as readonly { createdAt: number }[];
    return key ? [{ ...key, createdAt: key.createdAt - days * 86_400 }] : [];
  });
}
