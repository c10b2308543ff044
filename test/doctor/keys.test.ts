import test from 'ava';
import { createAdministration } from 'koa-gatehouse';
import type { Finding, Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { around } from '../harness/storage.ts';

const KEY = 'a key-encryption key of more than 32 characters';
const OTHER = 'another key-encryption key of more than 32 characters';

/** A storage that reports itself as durable, like a database. */
function durableStorage(): Storage {
  return { ...memoryStorage(), durable: true };
}

async function rotated(keyEncryptionKey?: string): Promise<Storage> {
  const storage = durableStorage();
  await createAdministration({ storage, ...(keyEncryptionKey ? { keyEncryptionKey } : {}) }).keys.rotate();
  return storage;
}

async function check(
  storage: Storage,
  keyEncryptionKey?: string | string[] | false,
): Promise<readonly Finding[]> {
  return createAdministration({
    storage,
    ...(keyEncryptionKey === undefined ? {} : { keyEncryptionKey }),
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

test('encrypted keys are reported only with another keyEncryptionKey, not with the right one or none', async (t) => {
  const storage = await rotated(KEY);
  t.deepEqual(await check(storage, KEY), []);
  t.deepEqual(await check(storage, [OTHER, KEY]), []);
  t.like(await check(storage, OTHER), [
    {
      code: 'keys_unreadable',
      severity: 'error',
      message:
        '1 key of the server is encrypted with another keyEncryptionKey than the given one, or damaged.',
    },
  ]);
  t.like(await check(storage), [{ code: 'keys_not_checked', severity: 'warning' }]);
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
          'Set keyEncryptionKey on the servers, then run `gatehouse keys rotate` with KEY_ENCRYPTION_KEY set to it.',
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
