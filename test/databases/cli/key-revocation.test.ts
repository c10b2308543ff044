import { setTimeout as delay } from 'node:timers/promises';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from 'jose';
import type { JWK } from 'jose';
import { createAdministration, StorageError } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import type { Storage } from 'koa-gatehouse';

import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import { passTime } from '../../harness/clock.ts';
import { authorizeUrl, runCodeFlow, signIn } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { send } from '../../harness/requests.ts';
import { around, pausable } from '../../harness/storage.ts';
import { BrowserOfCluster, clusterOn } from '../../harness/cluster.ts';
import { exchangeRefreshToken, requestClientToken } from '../../harness/tokens.ts';
import { gatehouse, gatehouseJson, gatehouseProcess, migrated } from '../../cli/gatehouse.ts';

// In seconds: the `tokens.revocationLag` of the nodes.
const LAG = 2;

interface Revoked {
  readonly key: { readonly kid: string; readonly status: string };
  readonly revoked: readonly string[];
  readonly notes: readonly string[];
}

function open(t: ExecutionContext, address: string): Storage {
  const storage = knexStorage(address);
  t.teardown(async () => storage.close());
  return storage;
}

/** Makes a token with the key in a copy of the database, as its thief can. */
async function thiefOf(storage: Storage, token: string): Promise<() => Promise<string>> {
  const stolen = await storage.keys.list('token');
  const { kid, alg } = decodeProtectedHeader(token);
  const { material } = stolen.find(({ id }) => id === kid)!;
  const key = await importJWK(JSON.parse(material) as JWK);
  let count = 0;
  return async () => {
    count += 1;
    return new SignJWT({ ...decodeJwt(token), jti: `forged ${count}` })
      .setProtectedHeader({ alg: alg!, typ: 'at+jwt', kid: kid! })
      .sign(key);
  };
}

async function guard(node: Platform, token: string): Promise<unknown> {
  const { status, body } = await node.api('/identity', token);
  return status === 200 ? 200 : [status, body['code'], body['message']];
}

const REFUSED = [
  401,
  'token_invalid',
  'The access token has expired, or was not issued by this server for this API.',
];

async function publishedBy(node: Platform): Promise<string[]> {
  const { body } = await send(node.reach(node.url('/oauth/jwks')));
  return (body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

test.serial('a leaked key is refused at every node within tokens.revocationLag', async (t) => {
  const address = await migrated();
  const cluster = clusterOn(t, address);
  const storage = open(t, address);
  const [here, there] = [
    await cluster.start({ tokens: { revocationLag: LAG } }),
    await cluster.start({ tokens: { revocationLag: LAG } }),
  ];
  const app = await here.registerApp({ firstParty: true });
  const service = await here.registerService();

  // The second time, everything that the first one has made is ended as well.
  for (const occurrence of ['first', 'second']) {
    const browser = new BrowserOfCluster(here);
    const { body } = await runCodeFlow(here, app, { browser });
    const forge = await thiefOf(storage, body.access_token);
    const known = await forge();
    for (const node of [here, there]) {
      while ((await guard(node, body.access_token)) !== 200) await delay(20);
      t.is(await guard(node, known), 200, 'the thief has any token');
    }
    const before = [...(await storage.keys.list('token')), ...(await storage.keys.list('cookie'))]
      .filter(({ retiresAt }) => retiresAt === undefined || retiresAt > 0)
      .map(({ id }) => id);

    const { key, notes, revoked } = await gatehouseJson<Revoked>('signing-keys revoke --yes', {
      DATABASE_URL: address,
    });
    await delay(LAG * 1000);
    t.is(key.status, 'active');
    t.deepEqual(revoked.toSorted(), before.toSorted(), occurrence);
    t.is(notes[0], 'Running servers apply it within seconds.');
    for (const node of [here, there]) {
      for (const token of [known, await forge(), body.access_token])
        t.deepEqual(await guard(node, token), REFUSED, occurrence);
      t.deepEqual(await publishedBy(node), [key.kid]);
    }

    // Clients go on.
    const { body: refreshed } = await exchangeRefreshToken(there, app, body.refresh_token);
    const { body: own } = await requestClientToken(here, service);
    for (const token of [refreshed.access_token, own.access_token]) {
      t.is(decodeProtectedHeader(token).kid, key.kid);
      for (const node of [here, there]) t.is(await guard(node, token), 200);
    }

    // The user signs in again, once for both nodes.
    const page = await browser.sendTo(there).open(authorizeUrl(there, app));
    t.regex(page.html, /type="password"/);
    t.true((await signIn(browser, page)).location?.searchParams.has('code'));
    t.true((await browser.sendTo(here).get(authorizeUrl(here, app))).location?.searchParams.has('code'));
    const events = await here.auth.audit.list({ types: ['key_revoked'], limit: 2 });
    const recorded = events.flatMap((event) => (event.type === 'key_revoked' ? event.keyId : []));
    t.deepEqual(recorded.toSorted(), before.toSorted());
  }
  t.true((await here.auth.prune()) >= 4);
  t.is((await storage.keys.list('token')).length, 1);
  t.is((await storage.keys.list('cookie')).length, 1);
});

onEachDatabaseInSeries(
  'a revocation of keys that was interrupted, or comes in the middle of a rotation, ends the leaked key',
  async (t, _database, address) => {
    const cluster = clusterOn(t, address);
    const storage = open(t, address);
    const node = await cluster.start({ tokens: { revocationLag: LAG } });
    const service = await node.registerService();
    const { body } = await requestClientToken(node, service);
    const forge = await thiefOf(storage, body.access_token);
    const failing = around(storage, async (name, call) => {
      if (name === 'keys.retire') throw new StorageError('the database is gone');
      return call();
    });
    await t.throwsAsync(createAdministration({ storage: failing }).signingKeys.revoke(), {
      instanceOf: StorageError,
    });
    t.is(await guard(node, await forge()), 200, 'it has said that it failed');

    // Another node has added a key, and not retired the former one yet.
    const paused = pausable(knexStorage(address));
    const rotating = await cluster.start({ storage: paused.storage, tokens: { revocationLag: LAG } });
    const retiring = paused.pause('keys.retire');
    const rotated = rotating.auth.signingKeys.rotate();
    await retiring.reached;
    const operator = createAdministration({ storage: knexStorage(address) });
    const { key } = await operator.signingKeys.revoke();
    await operator.close();
    retiring.resume();
    t.is((await rotated).id, key.id);
    await delay(LAG * 1000);
    for (const at of [node, rotating]) {
      t.deepEqual(await guard(at, await forge()), REFUSED);
      t.deepEqual(await publishedBy(at), [key.id]);
    }

    // Another node adds a key after the revocation has read the former ones: it may be one that the thief has read.
    const late = pausable(knexStorage(address));
    const adding = late.pause('keys.insert');
    const second = createAdministration({ storage: late.storage });
    const revoking = second.signingKeys.revoke();
    await adding.reached;
    const { id: between } = await node.auth.signingKeys.rotate();
    adding.resume();
    const { key: last, revoked } = await revoking;
    await second.close();
    t.true(revoked.includes(between));
    await delay(LAG * 1000);
    for (const at of [node, rotating]) t.deepEqual(await publishedBy(at), [last.id]);
  },
);

test.serial('a node whose clock is behind refuses a leaked key too', async (t) => {
  const address = await migrated();
  passTime(-90);
  t.teardown(() => passTime(90));
  const node = await clusterOn(t, address).start({ tokens: { revocationLag: LAG } });
  const { body } = await runCodeFlow(node, await node.registerApp({ firstParty: true }));
  const forge = await thiefOf(open(t, address), body.access_token);
  t.is(await guard(node, await forge()), 200);
  // Another process, whose clock is right.
  const { code, errors } = await gatehouseProcess('signing-keys revoke --yes', { DATABASE_URL: address });
  t.is(code, 0, errors);
  await delay(LAG * 1000);
  t.deepEqual(await guard(node, await forge()), REFUSED);
});

test('when the key-encryption key is lost, servers start again with a new one and keep clients, users and refresh tokens', async (t) => {
  const DATABASE_URL = await migrated();
  const cluster = clusterOn(t, DATABASE_URL);
  const [lost, found] = ['a lost key of more than 32 characters', 'a new key of more than 32 characters'];
  const first = await cluster.start({
    secrets: { keyEncryptionKey: lost },
    tokens: { algorithm: 'EdDSA' },
  });
  const app = await first.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(first, app);
  await cluster.stop(first);
  const env = { DATABASE_URL, KEY_ENCRYPTION_KEY: found };
  for (const [words, message] of [
    [
      'signing-keys revoke',
      /^End all keys, and with them all access tokens and logins\? Add --yes to do it\.\n$/,
    ],
    [
      'signing-keys revoke --yes',
      /^secrets.keyEncryptionKey: the server's keys were encrypted with another one/,
    ],
  ] as const) {
    const refused = await gatehouse(words, env);
    t.is(refused.code, 2);
    t.regex(refused.errors, message);
  }
  const { revoked } = await gatehouseJson<Revoked>('signing-keys revoke --yes --algorithm EdDSA', env);
  t.is(revoked.length, 2);
  // The next one keeps the algorithm of the keys.
  const { key } = await gatehouseJson<Revoked>('signing-keys revoke --yes', env);
  const second = await cluster.start({
    secrets: { keyEncryptionKey: found },
    tokens: { algorithm: 'EdDSA' },
  });
  t.deepEqual(
    second.auth.signingKeys.list().map(({ id }) => id),
    [key.kid],
  );
  const refreshed = await exchangeRefreshToken(second, app, body.refresh_token);
  t.is(refreshed.status, 200);
  t.is(await guard(second, refreshed.body.access_token), 200);
});
