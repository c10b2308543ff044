import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { passTime } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { clientToken } from '../harness/tokens.ts';
import { gatehouse, gatehouseJson, migrated } from './gatehouse.ts';

interface KeysDocument {
  readonly keys: readonly { readonly kid: string; readonly status: string }[];
  readonly key: { readonly kid: string; readonly status: string };
  readonly notes: readonly string[];
}

const KEY = 'a key-encryption key of more than 32 characters';

test.serial(
  'servers publish a key created on the command line, and accept tokens of the previous one',
  async (t) => {
    const DATABASE_URL = await migrated();
    const start = async (): ReturnType<typeof startPlatform> =>
      startPlatform({ storage: knexStorage(DATABASE_URL), tokens: { algorithm: 'RS256' } });
    await using platform = await start();
    const token = await clientToken(platform, await platform.registerService(['view_schools']));

    const { key } = await gatehouseJson<KeysDocument>('signing-keys rotate --after 30', { DATABASE_URL });
    passTime(31);
    const { keys } = await gatehouseJson<KeysDocument>('signing-keys list', { DATABASE_URL });
    t.deepEqual(
      keys.map(({ status }) => status),
      ['active', 'retired'],
    );
    t.is(keys[0]!.kid, key.kid);
    await using second = await start();
    t.like(second.auth.signingKeys.list()[0], { id: key.kid, status: 'active' });
    const { body } = await send(second.url('/oauth/jwks'));
    t.is((body!['keys'] as unknown[]).length, 2);
    t.is((await platform.api('/schools', token)).status, 200);
    // As with auth.signingKeys.rotate(), because verifiers cache the published keys.
    const next = await gatehouseJson<KeysDocument>('signing-keys rotate', { DATABASE_URL });
    t.is(next.key.status, 'next');
    t.is(next.notes[0], 'It signs in 60 s, when every server knows it.');
  },
);

test('keys are encrypted with KEY_ENCRYPTION_KEY, and creating one needs the key of the existing ones', async (t) => {
  const DATABASE_URL = await migrated();
  const first = await gatehouseJson<KeysDocument>('signing-keys rotate', {
    DATABASE_URL,
    KEY_ENCRYPTION_KEY: KEY,
  });
  t.is(first.key.status, 'active');
  t.deepEqual(first.notes, ['It is encrypted: every server needs the same secrets.keyEncryptionKey.']);
  const storage = knexStorage(DATABASE_URL);
  t.notRegex((await storage.keys.list('token'))[0]!.material, /"kty"/);

  for (const [words, env, message] of [
    [
      'signing-keys rotate',
      {},
      /^secrets.keyEncryptionKey: the server's keys are encrypted; give the secrets.keyEncryptionKey of the servers.\n$/,
    ],
    [
      'signing-keys rotate',
      { KEY_ENCRYPTION_KEY: KEY.toUpperCase() },
      /^secrets.keyEncryptionKey: the server's keys were encrypted with another one/,
    ],
    [
      'signing-keys list',
      { KEY_ENCRYPTION_KEY: 'short' },
      /^secrets.keyEncryptionKey: give random strings of at least 32 characters, newest first.\n$/,
    ],
  ] as const) {
    const { code, errors } = await gatehouse(words, { DATABASE_URL, ...env });
    t.is(code, 2);
    t.regex(errors, message);
  }
  t.is((await storage.keys.list('token')).length, 1);
  await storage.close();

  const listed = await gatehouse('signing-keys list', { DATABASE_URL });
  t.is(listed.code, 0);
  t.true(listed.output.includes(`${first.key.kid}  access tokens  active  `));
});

test('in production, creating keys needs KEY_ENCRYPTION_KEY or an explicit false', async (t) => {
  const DATABASE_URL = await migrated();
  const production = { DATABASE_URL, NODE_ENV: 'production' };
  const { code, errors } = await gatehouse('signing-keys rotate', production);
  t.is(code, 2);
  t.regex(errors, /^secrets.keyEncryptionKey: give a random string .*KEY_ENCRYPTION_KEY/);
  t.is((await gatehouse('signing-keys list', production)).code, 0, 'listing needs no key');

  const plain = await gatehouseJson<KeysDocument>('signing-keys rotate', {
    ...production,
    KEY_ENCRYPTION_KEY: 'false',
  });
  t.deepEqual(plain.notes, ['It is stored unencrypted; set KEY_ENCRYPTION_KEY to encrypt it.']);
  const doctor = await gatehouse('doctor', { DATABASE_URL, KEY_ENCRYPTION_KEY: 'false' });
  t.regex(doctor.output, /keys_unencrypted/);
});
