// Alone: it sets `NODE_ENV`.
import knex from 'knex';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { ConfigError, createAdministration } from 'koa-gatehouse';
import type { Administration, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { onEachDatabase } from '../adapters/databases.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { asClient } from '../harness/tokens.ts';

// ava runs this file in a process of its own.
process.env['NODE_ENV'] = 'production';

const KEY = 'a key that encrypts keys, of 32 or more';

const MISSING = {
  instanceOf: ConfigError,
  message: /^secrets.keyEncryptionKey: give a random string .* KEY_ENCRYPTION_KEY.*, or false to store /,
};

function warningsOf({ logger }: Platform): string[] {
  return logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
}

/** The stored keys of the server. */
async function storedKeys(storage: Storage): Promise<string[]> {
  const keys = [await storage.keys.list('token'), await storage.keys.list('cookie')];
  return keys.flat().map(({ material }) => material);
}

/** An administration of a database, closed at the end of the test. */
function administer(
  t: ExecutionContext,
  address: string,
  secrets: { keyEncryptionKey?: string | false } = {},
): Administration {
  const operator = createAdministration({ storage: knexStorage(address), secrets });
  t.teardown(async () => operator.close());
  return operator;
}

onEachDatabase(
  'in production keys are not stored unencrypted without keyEncryptionKey: false',
  async (t, _database, address) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    await storage.migrate();
    await t.throwsAsync(startPlatform({ storage }), MISSING);
    await t.throwsAsync(administer(t, address).keys.rotate(), MISSING);
    t.deepEqual(await storedKeys(storage), []);

    // Reading needs no key-encryption key.
    t.deepEqual(await administer(t, address).keys.list(), []);

    {
      await using platform = await startPlatform({
        storage: knexStorage(address),
        secrets: { keyEncryptionKey: KEY },
      });
      t.deepEqual(warningsOf(platform), []);
      t.deepEqual(await platform.auth.check(), []);
      await administer(t, address, { keyEncryptionKey: KEY }).keys.rotate();
      t.deepEqual(
        (await storedKeys(storage)).filter((material) => material.startsWith('{')),
        [],
      );
    }
  },
);

onEachDatabase(
  'secrets.keyEncryptionKey: false permits unencrypted keys, and check() reports them',
  async (t, _database, address) => {
    const options = { storage: knexStorage(address), secrets: { keyEncryptionKey: false } } as const;
    await using platform = await startPlatform(options);
    t.deepEqual(warningsOf(platform), []);
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    const operator = administer(t, address, { keyEncryptionKey: false });
    await operator.keys.rotate();
    t.true((await storedKeys(storage)).every((material) => material.startsWith('{')));
    for (const findings of [
      await platform.auth.check(),
      await operator.check(),
      await administer(t, address).check(),
    ]) {
      t.like(findings, [{ code: 'keys_unencrypted', severity: 'warning' }]);
    }
  },
);

onEachDatabase(
  'unencrypted keys still sign and verify after a key-encryption key is given',
  async (t, _database, address) => {
    const first = await startPlatform({
      storage: knexStorage(address),
      secrets: { keyEncryptionKey: false },
    });
    const service = await first.registerService(['view_schools']);
    const parameters = { grant_type: 'client_credentials', ...asClient(service) };
    const { body } = await first.token(parameters);
    const issuer = first.origin;
    await first[Symbol.asyncDispose]();

    await using second = await startPlatform({
      storage: knexStorage(address),
      issuer,
      secrets: { keyEncryptionKey: KEY },
    });
    t.is((await second.api('/schools', body.access_token)).status, 200);
    t.like(await second.auth.check(), [{ code: 'keys_unencrypted' }]);
    await second.auth.keys.rotate({ after: 0 });
    t.is((await second.api('/schools', (await second.token(parameters)).body.access_token)).status, 200);
    t.is((await second.api('/schools', body.access_token)).status, 200);
  },
);

test('a storage in memory needs no key-encryption key', async (t) => {
  const host = knex({
    client: 'better-sqlite3',
    connection: { filename: ':memory:' },
    useNullAsDefault: true,
    pool: { min: 1, max: 1 },
  });
  t.teardown(async () => host.destroy());
  const storages = [memoryStorage(), knexStorage('sqlite::memory:'), knexStorage(host)];
  for (const storage of storages) {
    t.false(storage.durable);
    await using platform = await startPlatform({ storage });
    t.deepEqual(warningsOf(platform), []);
    t.deepEqual(
      (await platform.auth.check()).filter(({ code }) => code === 'keys_unencrypted'),
      [],
    );
  }
});

test('in production no app connects with a document on loopback', async (t) => {
  const documents = { allow: () => true, scopes: [], loopback: true };
  await t.throwsAsync(startPlatform({ storage: memoryStorage(), clients: { documents } }), {
    instanceOf: ConfigError,
    message: /^clients.documents.loopback: leave it out: it is for trying an app on one machine/,
  });
});
