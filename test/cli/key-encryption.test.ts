import { setTimeout as delay } from 'node:timers/promises';

import { createAdministration, StorageError } from 'koa-gatehouse';
import type { Administration, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import type { ExecutionContext } from 'ava';
import { generateKeyPair, SignJWT } from 'jose';

import { onEachDatabase, sqlite } from '../adapters/databases.ts';
import { authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import { BrowserOfCluster, clusterOn } from '../harness/cluster.ts';
import { clientToken } from '../harness/tokens.ts';
import { gatehouse, gatehouseJson } from './gatehouse.ts';

const OLD = 'the former key-encryption key of more than 32 characters';
const NEW = 'the next key-encryption key of more than 32 characters';

/** The findings of `gatehouse doctor` about keys. */
async function keyFindings(
  DATABASE_URL: string,
  KEY_ENCRYPTION_KEY: string,
): Promise<readonly { readonly code: string; readonly message: string }[]> {
  const env = { DATABASE_URL, KEY_ENCRYPTION_KEY };
  const { findings } = await gatehouseJson<{ findings: { code: string; message: string }[] }>(
    ['doctor'],
    env,
  );
  return findings.filter(({ code }) => code.startsWith('key'));
}

const OTHER_ONE = {
  code: 'ERR_CONFIG',
  message:
    /^secrets.keyEncryptionKey: the server's keys were encrypted with another one; .* `gatehouse keys encrypt` has run/,
};

/** The storage of a database, and an administration with both keys, until the end of the test. */
function open(t: ExecutionContext, address: string): { storage: Storage; operator: Administration } {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  return { storage, operator: createAdministration({ storage, secrets: { keyEncryptionKey: [NEW, OLD] } }) };
}

/** Waits until a node knows a signing key. */
async function hasRead(node: Platform, id: string): Promise<void> {
  while (node.auth.keys.list().every((key) => key.id !== id)) await delay(20);
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

onEachDatabase(
  'a former key-encryption key is retired while two nodes run',
  async (t, _database, address) => {
    const cluster = clusterOn(t, address);
    const { storage } = open(t, address);
    const first = await cluster.start({ secrets: { keyEncryptionKey: OLD } });
    const begun = await beginOn(first);
    await first.auth.keys.rotate({ after: 0 });
    const other = await cluster.start({ secrets: { keyEncryptionKey: [NEW, OLD] } });
    await cluster.stop(first);
    const both = await cluster.start({ secrets: { keyEncryptionKey: [NEW, OLD] } });

    // A key that is made with the new one does not retire the former ones.
    const env = { DATABASE_URL: address, KEY_ENCRYPTION_KEY: `${NEW},${OLD}` };
    await gatehouseJson('keys rotate', env);
    await t.throwsAsync(cluster.start({ secrets: { keyEncryptionKey: NEW } }), OTHER_ONE);
    const [retired, active, next] = await storage.keys.list('token');
    const [cookie] = await storage.keys.list('cookie');
    t.like(await keyFindings(address, env.KEY_ENCRYPTION_KEY), [
      {
        code: 'keys_need_former',
        message: `3 keys of the server are encrypted with a former secrets.keyEncryptionKey, which servers still need: token ${active!.id} (active), token ${retired!.id} (retired), cookie ${cookie!.id} (active).`,
      },
    ]);
    t.is(next!.retiresAt, undefined);

    const { code, output } = await gatehouse('keys encrypt', env);
    t.deepEqual(
      [code, output],
      [
        0,
        'Encrypted 4 keys. A server needs no other secrets.keyEncryptionKey than the first any more; `gatehouse doctor` checks it.\n',
      ],
    );
    for (const given of [env.KEY_ENCRYPTION_KEY, NEW]) t.deepEqual(await keyFindings(address, given), []);

    await cluster.stop(both);
    const alone = await cluster.start({ secrets: { keyEncryptionKey: NEW } });
    for (const node of [alone, other]) await begun.stillWorkAt(t, node);
    await hasRead(other, next!.id);
    t.deepEqual(other.auth.keys.list(), alone.auth.keys.list());

    // What each of them makes from now on, the other can read.
    for (const [maker, reader] of [
      [alone, other],
      [other, alone],
    ] as const) {
      const { id } = await maker.auth.keys.rotate({ after: 0 });
      await hasRead(reader, id);
      const fresh = await beginOn(maker);
      await fresh.stillWorkAt(t, reader);
    }
    await t.throwsAsync(cluster.start({ secrets: { keyEncryptionKey: OLD } }), OTHER_ONE);
    for (const { logger } of [alone, other])
      t.deepEqual(
        logger.lines.filter(({ level }) => level !== 'info'),
        [],
      );
  },
);

onEachDatabase(
  'several commands at once, beside a node that makes keys, encrypt every key',
  async (t, _database, address) => {
    const { operator, storage } = open(t, address);
    await using node = await startPlatform({
      storage: knexStorage(address),
      secrets: { keyEncryptionKey: OLD },
    });
    for (let count = 0; count < 5; count += 1) await node.auth.keys.rotate({ after: 0 });
    const stored = (await materialOf(storage)).length;
    await using other = await startPlatform({
      storage: knexStorage(address),
      secrets: { keyEncryptionKey: [NEW, OLD] },
    });
    const [counts] = await Promise.all([
      Promise.all([operator, operator, open(t, address).operator].map(async ({ keys }) => keys.encrypt())),
      other.auth.keys.rotate({ after: 0 }),
    ]);
    for (const count of counts) t.true(count >= stored, `${count} of ${stored}`);
    await using alone = await startPlatform({
      storage: knexStorage(address),
      secrets: { keyEncryptionKey: NEW },
    });
    t.is(alone.auth.keys.list().length, (await materialOf(storage)).length - 1);
  },
);

onEachDatabase(
  'an interrupted command leaves keys that can be read, and is repeated',
  async (t, _database, address) => {
    const { operator, storage } = open(t, address);
    await using node = await startPlatform({
      storage: knexStorage(address),
      secrets: { keyEncryptionKey: [OLD] },
    });
    await node.auth.keys.rotate({ after: 0 });
    let written = 0;
    const failing = around(storage, async (name, call) => {
      if (name === 'keys.replaceMaterial' && written === 1) throw new StorageError('the database is gone');
      const result = await call();
      if (name === 'keys.replaceMaterial') written += 1;
      return result;
    });
    const interrupted = createAdministration({ storage: failing, secrets: { keyEncryptionKey: [NEW, OLD] } });
    await t.throwsAsync(interrupted.keys.encrypt(), { instanceOf: StorageError });
    const [finding, ...others] = await operator.check();
    t.is(finding?.code, 'keys_need_former');
    t.regex(finding!.message, /^2 keys /);
    t.deepEqual(others, []);
    await using both = await startPlatform({
      storage: knexStorage(address),
      secrets: { keyEncryptionKey: [NEW, OLD] },
    });
    t.is(both.auth.keys.list().length, 2);

    t.is(await operator.keys.encrypt(), 3);
    t.deepEqual(await operator.check(), []);
    // Each run writes each row, so that a run whose predecessor was not confirmed waits for the database.
    const before = await materialOf(storage);
    t.is(await operator.keys.encrypt(), 3);
    const after = await materialOf(storage);
    t.is(after.filter((material) => before.includes(material)).length, 0);
  },
);

onEachDatabase('keys that were stored unencrypted are encrypted', async (t, _database, address) => {
  const { storage } = open(t, address);
  const cluster = clusterOn(t, address);
  const plain = await cluster.start();
  const begun = await beginOn(plain);
  t.true((await materialOf(storage)).every((material) => material.startsWith('{')));
  const env = { DATABASE_URL: address, KEY_ENCRYPTION_KEY: NEW };
  t.deepEqual(await gatehouseJson('keys encrypt', env), { encrypted: 2 });
  t.false((await materialOf(storage)).some((material) => material.includes('{')));
  const encrypted = await cluster.start({ secrets: { keyEncryptionKey: NEW } });
  await begun.stillWorkAt(t, encrypted);
});

onEachDatabase(
  'a server that was not given the new key-encryption key goes on with the keys that it has, and logs why',
  async (t, _database, address) => {
    const cluster = clusterOn(t, address);
    const { operator } = open(t, address);
    const node = await cluster.start({ secrets: { keyEncryptionKey: OLD } });
    const token = await clientToken(node, await node.registerService(['view_schools']));
    const invented = await new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'invented' })
      .sign((await generateKeyPair('ES256')).privateKey);
    await operator.keys.encrypt();
    const failures = (): typeof node.logger.lines =>
      node.logger.lines.filter(({ message }) => message === 'job failed');
    while (failures().length === 0) await delay(20);
    const { err, job } = failures()[0]!.fields as { err: Error; job: string };
    t.is(job, 'read keys');
    t.regex(
      err.message,
      /^The stored keys cannot be read: secrets\.keyEncryptionKey: .* encrypted with another one/,
    );

    t.is((await node.api('/schools', token)).status, 200);
    while ((await node.api('/schools', invented)).status === 401) await delay(20);
    const { body, headers, status } = await node.api('/schools', invented);
    t.deepEqual([status, body['code']], [503, 'temporarily_unavailable']);
    t.true(Number(headers.get('retry-after')) > 0);
    t.false(JSON.stringify(body).includes('keyEncryptionKey'));
  },
);

onEachDatabase(
  'the command needs the keys that are stored, and one to encrypt with',
  async (t, _database, DATABASE_URL) => {
    const { storage } = open(t, DATABASE_URL);
    await (await startPlatform({ storage, secrets: { keyEncryptionKey: OLD } }))[Symbol.asyncDispose]();
    const reader = open(t, DATABASE_URL).storage;
    const before = await materialOf(reader);
    const refusals: Readonly<Record<string, RegExp>> = {
      '': /^secrets.keyEncryptionKey: give the new one first, and those of the stored keys after it /,
      false: /^secrets.keyEncryptionKey: give the new one first, and those of the stored keys after it /,
      [NEW]: /^secrets.keyEncryptionKey: the server's keys were encrypted with another one; /,
    };
    for (const [KEY_ENCRYPTION_KEY, message] of Object.entries(refusals)) {
      const { code, errors } = await gatehouse('keys encrypt', { DATABASE_URL, KEY_ENCRYPTION_KEY });
      t.is(code, 2);
      t.regex(errors, message);
    }
    t.deepEqual(await materialOf(reader), before);
  },
  [sqlite],
);
