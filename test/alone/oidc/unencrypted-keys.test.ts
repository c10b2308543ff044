import { agents } from 'koa-gatehouse';
import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { ConfigError, createAdministration } from 'koa-gatehouse';
import type { Administration, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { openHost, openStorage, SOLE } from '../../adapters/host-knex.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';
import { like } from '../../harness/like.ts';
import { startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { clientToken } from '../../harness/tokens.ts';
import { rotateSigningKey } from '../../harness/signing-keys.ts';

// ava runs this file in a process of its own.
process.env['NODE_ENV'] = 'production';

const KEY = 'a key that encrypts keys, of 32 or more';

const MISSING = {
  instanceOf: ConfigError,
  message: /^secrets.keyEncryptionKey: give a random string .* KEY_ENCRYPTION_KEY.*, or false to store /,
};

interface Secrets {
  readonly keyEncryptionKey?: string | false;
}

/** A database in a file: an administration of it, a platform on it, and whether each of its keys is encrypted. */
async function openDatabase(t: ExecutionContext) {
  const address = `sqlite:${temporaryFile()}`;
  const storage = await openStorage(t, address);
  return {
    start: async (secrets: Secrets, issuer?: string): Promise<Platform> => {
      const own = issuer === undefined ? {} : { issuer };
      return startPlatform({ storage: knexStorage(address), secrets, ...own });
    },
    administer: (secrets: Secrets = {}): Administration => {
      const operator = createAdministration({ storage: knexStorage(address), secrets });
      t.teardown(async () => operator.close());
      return operator;
    },
    areEncrypted: async (): Promise<boolean[]> => {
      const keys = [await storage.keys.list('token'), await storage.keys.list('cookie')];
      return keys.flat().map(({ material }) => !material.startsWith('{'));
    },
  };
}

function warningsOf({ logger }: Platform): string[] {
  return logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
}

test('in production keys are not stored unencrypted without keyEncryptionKey: false', async (t) => {
  const { administer, areEncrypted, start } = await openDatabase(t);
  await t.throwsAsync(start({}), MISSING);
  await t.throwsAsync(administer().signingKeys.rotate(), MISSING);
  t.deepEqual(await areEncrypted(), []);

  // Reading needs no key-encryption key.
  t.deepEqual(await administer().signingKeys.list(), []);

  await using platform = await start({ keyEncryptionKey: KEY });
  t.deepEqual(warningsOf(platform), []);
  t.deepEqual(await platform.auth.doctor(), []);
  await administer({ keyEncryptionKey: KEY }).signingKeys.rotate();
  t.deepEqual([...new Set(await areEncrypted())], [true]);
});

test.serial(
  'secrets.keyEncryptionKey: false permits unencrypted keys, check() reports them, and they work after one is given',
  async (t) => {
    const { administer, areEncrypted, start } = await openDatabase(t);
    const first = await start({ keyEncryptionKey: false });
    t.deepEqual(warningsOf(first), []);
    const operator = administer({ keyEncryptionKey: false });
    await operator.signingKeys.rotate();
    t.deepEqual([...new Set(await areEncrypted())], [false]);
    const REPORTED = [{ code: 'keys_unencrypted', severity: 'warning' }];
    for (const findings of [await first.auth.doctor(), await operator.doctor(), await administer().doctor()])
      like(t, findings, REPORTED);
    const service = await first.registerService(['view_schools']);
    const token = await clientToken(first, service);
    await first[Symbol.asyncDispose]();

    await using second = await start({ keyEncryptionKey: KEY }, first.origin);
    t.is((await second.api('/schools', token)).status, 200);
    like(t, await second.auth.doctor(), REPORTED);
    await rotateSigningKey(second);
    for (const one of [token, await clientToken(second, service)])
      t.is((await second.api('/schools', one)).status, 200);
  },
);

test('a storage in memory needs no key-encryption key', async (t) => {
  const host = openHost(t, 'better-sqlite3', 'sqlite::memory:', SOLE);
  const storages: Storage[] = [memoryStorage(), knexStorage('sqlite::memory:'), knexStorage(host)];
  for (const storage of storages) {
    t.false(storage.durable);
    await using platform = await startPlatform({ storage });
    // Of production, and nothing of its keys.
    t.deepEqual(warningsOf(platform), [
      'the storage loses everything when the process ends: use knexStorage(knex) in production',
    ]);
    const findings = await platform.auth.doctor();
    t.false(findings.some(({ code }) => code === 'keys_unencrypted'));
  }
});

test('in production no app connects with a document on loopback', async (t) => {
  const features = [agents({ documents: { scopes: [], loopback: true }, registration: false })];
  await t.throwsAsync(startPlatform({ storage: memoryStorage(), features }), {
    instanceOf: ConfigError,
    message: /documents.loopback.*: leave it out: it is for trying an app on one machine/,
  });
});
