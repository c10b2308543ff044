import test from '../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import type { Administration, Finding, Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { StoredKey } from '../../lib/contracts/index.ts';
import { like } from '../harness/like.ts';
import { startPlatform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';

const KEY = 'a key-encryption key of more than 32 characters';
const OTHER = 'another key-encryption key of more than 32 characters';

/** A storage that reports itself as durable, like a database. */
function durableStorage(): Storage {
  return { ...memoryStorage(), durable: true };
}

type KeyEncryptionKey = string | readonly string[] | false | undefined;

function administration(storage: Storage, keyEncryptionKey?: KeyEncryptionKey): Administration {
  return createAdministration({
    storage,
    ...(keyEncryptionKey !== undefined && { secrets: { keyEncryptionKey } }),
  });
}

/** A storage with a signing key. */
async function rotated(keyEncryptionKey?: string): Promise<Storage> {
  const storage = durableStorage();
  await administration(storage, keyEncryptionKey).signingKeys.rotate();
  return storage;
}

async function check(storage: Storage, keyEncryptionKey?: KeyEncryptionKey): Promise<readonly Finding[]> {
  return administration(storage, keyEncryptionKey).doctor();
}

/** The storage with its only key changed. */
function changed(storage: Storage, change: (key: StoredKey) => object): Storage {
  return around(storage, async (name, call) => {
    const result = await call();
    if (name !== 'keys.list') return result;
    const [key] = result as readonly StoredKey[];
    return key ? [{ ...key, ...change(key) }] : [];
  });
}

test('a storage without a signing key is a warning', async (t) => {
  like(t, await check(memoryStorage()), [
    {
      code: 'signing_key_missing',
      severity: 'warning',
      message: 'There is no signing key.',
      remedy: 'Start a server, which creates one, or run `gatehouse signing-keys rotate`.',
    },
  ]);
});

test('encrypted keys are reported only with another secrets.keyEncryptionKey, not with the right one or none', async (t) => {
  const storage = await rotated(KEY);
  t.deepEqual(await check(storage, KEY), []);
  const [{ id }] = (await storage.keys.list('token')) as [StoredKey];
  like(t, await check(storage, OTHER), [
    {
      code: 'keys_unreadable',
      severity: 'error',
      message: `1 key of the server is encrypted with another secrets.keyEncryptionKey than the given one, or damaged: token ${id} (active).`,
    },
  ]);
  like(t, await check(storage), [{ code: 'keys_not_checked', severity: 'warning' }]);
});

test('each key that needs a former secrets.keyEncryptionKey is named, until it is encrypted anew', async (t) => {
  const storage = durableStorage();
  await (await startPlatform({ storage, secrets: { keyEncryptionKey: KEY } }))[Symbol.asyncDispose]();
  const both = administration(storage, [OTHER, KEY]);
  await both.signingKeys.rotate();
  const [first] = (await storage.keys.list('token')) as [StoredKey];
  const [cookie] = (await storage.keys.list('cookie')) as [StoredKey];
  t.deepEqual(await both.doctor(), [
    {
      code: 'keys_need_former',
      severity: 'warning',
      message: `2 keys of the server are encrypted with a former secrets.keyEncryptionKey, which servers still need: token ${first.id} (active), cookie ${cookie.id} (active).`,
      remedy:
        'When all servers have the new secrets.keyEncryptionKey, first in the list, run `gatehouse signing-keys encrypt` with KEY_ENCRYPTION_KEY set to the same list. Then remove the former one.',
    },
  ]);
  t.is(await both.signingKeys.encrypt(), 3);
  t.deepEqual(await both.doctor(), []);
  t.deepEqual(await check(storage, OTHER), []);
});

test('damaged, unencrypted and old keys are reported', async (t) => {
  const plain = await rotated();
  const inMemory = memoryStorage();
  await administration(inMemory).signingKeys.rotate();
  const damaged = changed(await rotated(KEY), ({ material }) => ({
    material: `${material.slice(0, -4)}AAAA`,
  }));
  const aged = (days: number): Storage =>
    changed(plain, ({ createdAt }) => ({ createdAt: createdAt - days * 86_400 }));
  const unencrypted = {
    code: 'keys_unencrypted',
    severity: 'warning',
    message: '1 key of the server is stored unencrypted: anyone who reads the database can make tokens.',
  };
  for (const [what, storage, keyEncryptionKey, finding] of [
    ['damaged', damaged, KEY, { code: 'keys_unreadable', severity: 'error' }],
    ['unencrypted', plain, KEY, unencrypted],
    ['unencrypted as the option says', plain, false, unencrypted],
    ['unencrypted in memory', inMemory, false, undefined],
    ['unencrypted, without the option', plain, undefined, undefined],
    ['90 days old', aged(90), undefined, undefined],
    [
      '120 days old',
      aged(120),
      undefined,
      {
        code: 'signing_key_old',
        severity: 'warning',
        message: 'The newest signing key is 120 days old; a new one was due after 90.',
      },
    ],
  ] as const) {
    const [found, ...others] = await check(storage, keyEncryptionKey);
    if (finding) t.like(found, finding, what);
    else t.is(found, undefined, what);
    t.deepEqual(others, []);
  }
});

test.serial('unencrypted keys are reported in production', async (t) => {
  const storage = await rotated();
  process.env['NODE_ENV'] = 'production';
  try {
    like(t, await check(storage), [
      {
        code: 'keys_unencrypted',
        remedy:
          'Set secrets.keyEncryptionKey on the servers, then run `gatehouse signing-keys encrypt` with KEY_ENCRYPTION_KEY set to it.',
      },
    ]);
  } finally {
    process.env['NODE_ENV'] = 'test';
  }
});
