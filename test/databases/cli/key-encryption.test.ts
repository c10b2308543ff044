import { createAdministration, StorageError } from 'koa-gatehouse';
import type { Administration, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { generateKeyPair, SignJWT } from 'jose';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { onEachDatabase } from '../../adapters/databases.ts';
import { authorizeUrl, runCodeFlow } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { around } from '../../harness/storage.ts';
import { rotateSigningKey } from '../../harness/signing-keys.ts';
import { BrowserOfCluster, clusterOn } from '../../harness/cluster.ts';
import { clientToken } from '../../harness/tokens.ts';
import { until } from '../../harness/until.ts';
import { gatehouse, gatehouseJson, migrated } from '../../cli/gatehouse.ts';

const OLD = 'the former key-encryption key of more than 32 characters';
const NEW = 'the next key-encryption key of more than 32 characters';

const OTHER_ONE = {
  code: 'ERR_CONFIG',
  message:
    /^secrets.keyEncryptionKey: the server's keys were encrypted with another one; .* `gatehouse signing-keys encrypt` has run/,
};

/** The storage of a database, and an administration with both keys, until the end of the test. */
function open(t: ExecutionContext, address: string): { storage: Storage; operator: Administration } {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  return { storage, operator: createAdministration({ storage, secrets: { keyEncryptionKey: [NEW, OLD] } }) };
}

/** Waits until a node knows a signing key. */
async function hasRead(node: Platform, id: string): Promise<void> {
  await until(() => node.auth.signingKeys.list().some((key) => key.id === id));
}

async function materialOf({ keys }: Storage): Promise<string[]> {
  return [...(await keys.list('token')), ...(await keys.list('cookie'))].map(({ material }) => material);
}

/** What was issued before the key-encryption key is replaced. */
async function beginOn(node: Platform): Promise<{
  stillWorkAt: (t: ExecutionContext, other: Platform) => Promise<void>;
}> {
  const app = await node.registerApp({ firstParty: true });
  const asked = await node.registerApp({ name: 'Timetable' });
  const browser = new BrowserOfCluster(node);
  const { body } = await runCodeFlow(node, app, { browser });
  const consent = await browser.open(authorizeUrl(node, asked));
  const service = await clientToken(node, await node.registerService(['view_schools']));

  async function isSignedIn(at: Platform): Promise<boolean> {
    const { location } = await browser.sendTo(at).get(authorizeUrl(at, app));
    return location?.searchParams.has('code') ?? false;
  }

  return {
    async stillWorkAt(t, other) {
      t.is((await other.api('/identity', body.access_token)).status, 200, 'the token of the user');
      t.is((await other.api('/schools', service)).status, 200, 'the token of the client');
      t.true(await isSignedIn(other), 'the session');
      const agreed = await browser.submit(consent, 'Authorize');
      t.is(agreed.status, 303, 'the consent page');
      t.is((await browser.follow(agreed)).location?.origin, 'https://reports.example');
    },
  };
}

test.serial('a former key-encryption key is retired while a node runs, and another one starts', async (t) => {
  const address = await migrated();
  const cluster = clusterOn(t, address);
  const { storage } = open(t, address);
  const first = await cluster.start({ secrets: { keyEncryptionKey: OLD } });
  const begun = await beginOn(first);
  await rotateSigningKey(first);
  const other = await cluster.start({ secrets: { keyEncryptionKey: [NEW, OLD] } });
  await cluster.stop(first);

  // A key that is made with the new one does not retire the former ones.
  const env = { DATABASE_URL: address, KEY_ENCRYPTION_KEY: `${NEW},${OLD}` };
  await gatehouseJson('signing-keys rotate', env);
  await t.throwsAsync(cluster.start({ secrets: { keyEncryptionKey: NEW } }), OTHER_ONE);
  const [retired, active, next] = await storage.keys.list('token');
  const [cookie] = await storage.keys.list('cookie');
  const { output: needed } = await gatehouse('doctor', env);
  t.true(
    needed.includes(
      `3 keys of the server are encrypted with a former secrets.keyEncryptionKey, which servers still need: token ${active!.id} (active), token ${retired!.id} (retired), cookie ${cookie!.id} (active).`,
    ),
    needed,
  );
  t.is(next!.retiresAt, undefined);

  const { code, output } = await gatehouse('signing-keys encrypt', env);
  t.is(code, 0);
  t.is(
    output,
    'Encrypted 4 keys. A server needs no other secrets.keyEncryptionKey than the first any more; `gatehouse doctor` checks it.\n',
  );
  for (const KEY_ENCRYPTION_KEY of [env.KEY_ENCRYPTION_KEY, NEW])
    t.notRegex((await gatehouse('doctor', { ...env, KEY_ENCRYPTION_KEY })).output, /keys_/);

  const alone = await cluster.start({ secrets: { keyEncryptionKey: NEW } });
  for (const node of [alone, other]) await begun.stillWorkAt(t, node);
  await hasRead(other, next!.id);
  t.deepEqual(other.auth.signingKeys.list(), alone.auth.signingKeys.list());

  // What each of them makes from now on, the other can read.
  for (const [maker, reader] of [
    [alone, other],
    [other, alone],
  ] as const) {
    const { id } = await rotateSigningKey(maker);
    await hasRead(reader, id);
    await (await beginOn(maker)).stillWorkAt(t, reader);
  }
  await t.throwsAsync(cluster.start({ secrets: { keyEncryptionKey: OLD } }), OTHER_ONE);
  for (const { logger } of [alone, other])
    t.deepEqual(
      // The issuer is none of these nodes.
      logger.lines.filter(
        ({ level, message }) =>
          level !== 'info' && message !== 'pages are opened at another origin than the issuer',
      ),
      [],
    );
});

onEachDatabase(
  'several commands at once, beside a node that makes keys, encrypt every key',
  async (t, _database, address) => {
    const cluster = clusterOn(t, address);
    const { operator, storage } = open(t, address);
    const node = await cluster.start({ secrets: { keyEncryptionKey: OLD } });
    for (let count = 0; count < 5; count += 1) await node.auth.signingKeys.rotate();
    const stored = (await materialOf(storage)).length;
    const other = await cluster.start({ secrets: { keyEncryptionKey: [NEW, OLD] } });
    const [counts] = await Promise.all([
      Promise.all(
        [operator, operator, open(t, address).operator].map(async ({ signingKeys: keys }) => keys.encrypt()),
      ),
      other.auth.signingKeys.rotate(),
    ]);
    for (const count of counts) t.true(count >= stored, `${count} of ${stored}`);
    const alone = await cluster.start({ secrets: { keyEncryptionKey: NEW } });
    t.is(alone.auth.signingKeys.list().length, (await materialOf(storage)).length - 1);
  },
);

test('an interrupted command leaves keys that can be read, and is repeated', async (t) => {
  const address = await migrated();
  const cluster = clusterOn(t, address);
  const { operator, storage } = open(t, address);
  const node = await cluster.start({ secrets: { keyEncryptionKey: [OLD] } });
  await node.auth.signingKeys.rotate();
  let written = 0;
  const failing = around(storage, async (name, call) => {
    if (name === 'keys.replaceMaterial' && written === 1) throw new StorageError('the database is gone');
    const result = await call();
    if (name === 'keys.replaceMaterial') written += 1;
    return result;
  });
  const interrupted = createAdministration({ storage: failing, secrets: { keyEncryptionKey: [NEW, OLD] } });
  await t.throwsAsync(interrupted.signingKeys.encrypt(), { instanceOf: StorageError });
  const [finding, ...others] = await operator.doctor();
  t.is(finding?.code, 'keys_need_former');
  t.regex(finding!.message, /^2 keys /);
  t.deepEqual(others, []);
  const both = await cluster.start({ secrets: { keyEncryptionKey: [NEW, OLD] } });
  t.is(both.auth.signingKeys.list().length, 2);

  t.is(await operator.signingKeys.encrypt(), 3);
  t.deepEqual(await operator.doctor(), []);
  // Each run writes each row, so that a run whose predecessor was not confirmed waits for the database.
  const before = await materialOf(storage);
  t.is(await operator.signingKeys.encrypt(), 3);
  const after = await materialOf(storage);
  t.is(after.filter((material) => before.includes(material)).length, 0);
});

test('keys that were stored unencrypted are encrypted, and others with the keys that encrypted them only', async (t) => {
  const address = await migrated();
  const { storage } = open(t, address);
  const cluster = clusterOn(t, address);
  const begun = await beginOn(await cluster.start());
  t.true((await materialOf(storage)).every((material) => material.startsWith('{')));
  const encrypt = async (KEY_ENCRYPTION_KEY: string): ReturnType<typeof gatehouse> =>
    gatehouse('signing-keys encrypt --json', { DATABASE_URL: address, KEY_ENCRYPTION_KEY });
  t.deepEqual(JSON.parse((await encrypt(NEW)).output), { encrypted: 2 });
  const encrypted = await materialOf(storage);
  t.false(encrypted.some((material) => material.includes('{')));
  await begun.stillWorkAt(t, await cluster.start({ secrets: { keyEncryptionKey: NEW } }));

  const missing = 'give the new one first, and those of the stored keys after it ';
  for (const [given, message] of [
    ['', missing],
    ['false', missing],
    [OLD, "the server's keys were encrypted with another one; "],
  ] as const) {
    const { code, errors } = await encrypt(given);
    t.is(code, 2);
    t.true(JSON.parse(errors).error.message.startsWith(`secrets.keyEncryptionKey: ${message}`), errors);
  }
  t.deepEqual(await materialOf(storage), encrypted);
});

test('a server that was not given the new key-encryption key goes on with the keys that it has, and logs why', async (t) => {
  const address = await migrated();
  const { operator } = open(t, address);
  const node = await clusterOn(t, address).start({ secrets: { keyEncryptionKey: OLD } });
  const token = await clientToken(node, await node.registerService(['view_schools']));
  const invented = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'invented' })
    .sign((await generateKeyPair('ES256')).privateKey);
  await operator.signingKeys.encrypt();
  const failures = (): typeof node.logger.lines =>
    node.logger.lines.filter(({ message }) => message === 'job failed');
  await until(() => failures().length > 0);
  const { err, job } = failures()[0]!.fields as { err: Error; job: string };
  t.is(job, 'read keys');
  t.regex(
    err.message,
    /^The stored keys cannot be read: secrets\.keyEncryptionKey: .* encrypted with another one/,
  );

  t.is((await node.api('/schools', token)).status, 200);
  await until(async () => (await node.api('/schools', invented)).status !== 401);
  const { body, headers, status } = await node.api('/schools', invented);
  t.deepEqual([status, body['code']], [503, 'temporarily_unavailable']);
  t.true(Number(headers.get('retry-after')) > 0);
  t.false(JSON.stringify(body).includes('keyEncryptionKey'));
});
