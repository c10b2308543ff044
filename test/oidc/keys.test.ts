import { decodeJwt, decodeProtectedHeader, generateKeyPair, importJWK, SignJWT } from 'jose';
import type { JWK } from 'jose';
import test from '../harness/test.ts';
import { ConfigError, createAdministration } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import type { StoredKey } from '../../lib/contracts/index.ts';
import { passTime, resetClock, stopClock } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { rotateSigningKey } from '../harness/signing-keys.ts';
import { around, breakable, pausable } from '../harness/storage.ts';
import { until } from '../harness/until.ts';
import { aSession } from '../storage/rows.ts';
import { clientToken } from '../harness/tokens.ts';

async function issue(platform: Platform): Promise<string> {
  return clientToken(platform, await platform.registerService());
}

async function publishedBy(platform: Platform): Promise<string[]> {
  const { body } = await send(`${platform.origin}/oauth/jwks`);
  return (body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

function kidOf(token: string): string {
  return decodeProtectedHeader(token).kid!;
}

test.afterEach.always(resetClock);

test.serial('after a rotation the new key signs, the old key verifies, and both are published', async (t) => {
  await using platform = await startPlatform();
  const before = await issue(platform);
  const key = await rotateSigningKey(platform);
  t.is(key.status, 'active');
  const after = await issue(platform);
  t.is(kidOf(after), key.id);
  t.not(kidOf(before), key.id);
  for (const token of [before, after]) t.is((await platform.api('/identity', token)).status, 200);
  t.deepEqual(await publishedBy(platform), [key.id, kidOf(before)]);
  t.deepEqual(
    platform.auth.signingKeys.list().map(({ id, status }) => [id, status]),
    [
      [key.id, 'active'],
      [kidOf(before), 'retired'],
    ],
  );
});

test('a new key is published before it signs', async (t) => {
  await using platform = await startPlatform();
  const before = Math.floor(Date.now() / 1000);
  const key = await platform.auth.signingKeys.rotate({ after: '2 minutes' });
  t.true(key.activeAt >= before + 120);
  t.is(key.status, 'next');
  const token = await issue(platform);
  t.not(kidOf(token), key.id);
  t.deepEqual(await publishedBy(platform), [kidOf(token), key.id]);
  for (const after of [-1, 0, 29, '29 seconds'] as const)
    await t.throwsAsync(platform.auth.signingKeys.rotate({ after }), {
      instanceOf: ConfigError,
      message: /^signingKeys\.rotate\(\{ after \}\): give .*at least 30 s/,
    });
});

/** Two nodes on one storage, and the reads of the keys by the second one, which can be paused or fail. */
async function startTwo() {
  const storage = memoryStorage();
  const reads: string[] = [];
  const { broken, storage: failing } = breakable(storage);
  const seen = around(failing, async (name, call) => {
    if (name === 'keys.list') reads.push(name);
    return call();
  });
  const { pause, storage: other } = pausable(seen);
  // The clock of the first node is ahead: its new keys sign at once.
  const ahead = async (key: StoredKey) => storage.keys.insert({ ...key, activeAt: key.createdAt });
  const here = await startPlatform({ storage: { ...storage, keys: { ...storage.keys, insert: ahead } } });
  const there = await startPlatform({
    storage: other,
    issuer: here.origin,
    tokens: { revocationLag: '1 hour' },
  });
  reads.length = 0;
  const { privateKey } = await generateKeyPair('ES256');
  const header = { alg: 'ES256', typ: 'at+jwt', kid: 'invented' };
  return {
    there,
    reads,
    broken,
    pause,
    rotated: async (): Promise<string> => {
      await here.auth.signingKeys.rotate();
      return issue(here);
    },
    valid: await issue(here),
    invented: await new SignJWT({}).setProtectedHeader(header).sign(privateKey),
    async [Symbol.asyncDispose]() {
      await there[Symbol.asyncDispose]();
      await here[Symbol.asyncDispose]();
    },
  };
}

test.serial('a token of an unknown key is refused at once when the keys were just read', async (t) => {
  using _stopped = stopClock();
  await using nodes = await startTwo();
  const { invented, reads, rotated, there, valid } = nodes;
  const token = await rotated();
  const refused = await there.api('/identity', invented);
  t.like([refused.status, refused.body], [401, { code: 'token_invalid' }]);
  t.is((await there.api('/identity', token)).status, 401);
  t.is((await there.api('/identity', valid)).status, 200);
  t.deepEqual(reads, []);

  passTime(1);
  t.is((await there.api('/identity', invented)).status, 401);
  t.is((await there.api('/identity', token)).status, 200);
  t.is((await there.api('/identity', invented)).status, 401);
  t.is(reads.length, 1, 'the first one in the next second reads the keys, for all');
  passTime(-60);
  t.is((await there.api('/identity', await rotated())).status, 200, 'the clock was set back');
  t.is(reads.length, 2);
});

test.serial('a node accepts a token of a key that another node has just created', async (t) => {
  using _stopped = stopClock();
  await using nodes = await startTwo();
  const { broken, invented, pause, reads, rotated, there, valid } = nodes;
  const token = await rotated();
  passTime(1);
  broken.add('keys.list');
  const failed = await there.api('/identity', token);
  t.like([failed.status, failed.body], [503, { code: 'temporarily_unavailable' }]);
  broken.clear();
  reads.length = 0;
  // The read that failed is repeated by the next one.
  const reading = pause('keys.list');
  const waiting = [token, invented, token].map(async (sent) => there.api('/identity', sent));
  await reading.reached;
  t.is((await there.api('/identity', valid)).status, 200, 'a token of a known key does not wait');
  reading.resume();
  t.deepEqual(
    (await Promise.all(waiting)).map(({ status }) => status),
    [200, 401, 200],
  );
  t.is(reads.length, 1);
});

test('two concurrent rotations on two nodes create one key', async (t) => {
  const storage = memoryStorage();
  await using here = await startPlatform({ storage });
  await using there = await startPlatform({ storage, issuer: here.origin });
  const [one, other] = await Promise.all(
    [here, there].map(({ auth }) => auth.signingKeys.rotate({ after: '30 seconds' })),
  );
  t.is(one!.id, other!.id);
  t.is((await storage.keys.list('token')).length, 2);
});

test.serial(
  'a signing key stays published until its last token has expired, and then verifies none',
  async (t) => {
    using _stopped = stopClock();
    const storage = memoryStorage();
    await using platform = await startPlatform({
      storage,
      tokens: { lifetimes: { accessToken: 3600 }, revocationLag: 1 },
    });
    const [old] = await storage.keys.list('token');
    const key = await platform.auth.signingKeys.rotate({ after: 60 });
    passTime(59);
    const last = await issue(platform);
    t.is(kidOf(last), old!.id);
    passTime(3599);
    await platform.auth.prune();
    t.deepEqual((await publishedBy(platform)).toSorted(), [key.id, old!.id].toSorted());
    t.is((await platform.api('/identity', last)).status, 200);

    passTime(3);
    await until(async () => (await publishedBy(platform)).length === 1);
    t.deepEqual(await publishedBy(platform), [key.id]);
    t.deepEqual(
      platform.auth.signingKeys.list().map(({ id, status }) => [id, status]),
      [[key.id, 'active']],
    );
    const listed = await createAdministration({ storage }).signingKeys.list();
    t.deepEqual(
      listed.map(({ id }) => id),
      [key.id],
      'the administration does not list it',
    );
    // The old key may be in a backup of the database.
    const claims = { ...decodeJwt(await issue(platform)), jti: 'signed by the test' };
    const [newest] = (await storage.keys.list('token')).toReversed();
    for (const [signer, status] of [
      [old!, 401],
      [newest!, 200],
    ] as const) {
      const forged = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: signer.id })
        .sign(await importJWK(JSON.parse(signer.material) as JWK));
      t.is((await platform.api('/identity', forged)).status, status);
    }
    await platform.auth.prune();
    t.deepEqual(
      (await storage.keys.list('token')).map(({ id }) => id),
      [key.id],
    );
  },
);

test('without the key-encryption key of the stored keys the server does not start', async (t) => {
  const storage = memoryStorage();
  const keyEncryptionKey = 'a key that encrypts keys, of 32 or more';
  await (await startPlatform({ storage, secrets: { keyEncryptionKey } }))[Symbol.asyncDispose]();
  await t.throwsAsync(startPlatform({ storage }), {
    code: 'ERR_CONFIG',
    message:
      "secrets.keyEncryptionKey: the server's keys are encrypted; give the secrets.keyEncryptionKey of the servers",
  });
});

test('a key is rotated after keyRotation', async (t) => {
  await using platform = await startPlatform({ tokens: { keyRotation: 1 } });
  const [first] = platform.auth.signingKeys.list();
  await until(() => platform.auth.signingKeys.list().length > 1);
  const keys = platform.auth.signingKeys.list();
  t.is(keys[0]!.status, 'next');
  t.is(keys.at(-1)!.id, first!.id);
});

test('expired rows are deleted after pruneInterval', async (t) => {
  const storage = memoryStorage();
  await storage.sessions.insert(aSession({ id: 'old', expiresAt: 1, sequence: 0 }));
  await using _platform = await startPlatform({ storage, retention: { pruneInterval: 1 } });
  await until(async () => (await storage.sessions.find('old')) === undefined);
  t.is(await storage.sessions.find('old'), undefined);
});
