import test from '../../harness/test.ts';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import type { JSONWebKeySet } from 'jose';

import { gatehouseJson } from '../../cli/gatehouse.ts';
import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import { openStorage } from '../../adapters/host-knex.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';
import { passTime } from '../../harness/clock.ts';
import { BrowserOfCluster, clusterOn } from '../../harness/cluster.ts';
import { runCodeFlow, startPlatform } from '../../harness/platform.ts';
import type { Platform, RegisteredApp } from '../../harness/platform.ts';
import { send } from '../../harness/requests.ts';
import { until } from '../../harness/until.ts';
import { OPENID } from '../../openid/options.ts';

async function publishedBy(node: Platform): Promise<JSONWebKeySet> {
  const { body } = await send(node.reach(node.url('/oauth/jwks')));
  return body as unknown as JSONWebKeySet;
}

/** Signs the user of a browser in at an app by a node, and verifies the ID token by the keys that the node publishes right then. */
async function signInAt(node: Platform, app: RegisteredApp, browser: BrowserOfCluster): Promise<string> {
  const { body } = await runCodeFlow(node, app, { browser, parameters: { scope: 'openid' } });
  const idToken = body.id_token!;
  await verify(idToken, await publishedBy(node), app);
  return idToken;
}

async function verify(idToken: string, keys: JSONWebKeySet, { client }: RegisteredApp): Promise<void> {
  await jwtVerify(idToken, createLocalJWKSet(keys), { audience: client.id, algorithms: ['RS256'] });
}

onEachDatabaseInSeries(
  'nodes that start at once have one key of each use, and what they sign beside rotations verifies everywhere',
  async (t, _database, address) => {
    const cluster = clusterOn(t, address);
    const nodes = await Promise.all(Array.from({ length: 2 }, async () => cluster.start({ openid: true })));
    const storage = await openStorage(t, address);
    for (const use of ['token', 'id_token', 'cookie'] as const)
      t.is((await storage.keys.list(use)).length, 1, use);
    const app = await nodes[0]!.registerApp({ firstParty: true });

    const idTokens = [await signInAt(nodes[0]!, app, new BrowserOfCluster(nodes[0]!))];
    const rotation = new AbortController();
    async function keepSigning(node: Platform): Promise<void> {
      const browser = new BrowserOfCluster(node);
      while (!rotation.signal.aborted) idTokens.push(await signInAt(node, app, browser));
      idTokens.push(await signInAt(node, app, browser));
    }
    async function rotate(): Promise<void> {
      for (let time = 0; time < 2; time += 1) {
        await Promise.all(nodes.map(async ({ auth }) => auth.signingKeys.rotate({ after: '30 seconds' })));
        const next = (await storage.keys.list('id_token')).at(-1)!.id;
        passTime(31);
        await until(() => idTokens.some((idToken) => decodeProtectedHeader(idToken).kid === next));
      }
      rotation.abort();
    }
    await Promise.all([...nodes.map(keepSigning), rotate()]);

    const stored = await storage.keys.list('id_token');
    t.true(stored.length > 2 && stored.length <= 5, String(stored.length));
    t.deepEqual(
      stored.map(({ generation }) => generation),
      stored.map((_key, index) => index + 1),
    );
    t.is(stored.filter(({ retiresAt }) => retiresAt === undefined).length, 1);
    for (const node of nodes) {
      const kids = async (): Promise<string[]> => (await publishedBy(node)).keys.map(({ kid }) => kid!);
      await until(async () => (await kids()).includes(stored.at(-1)!.id));
      const keys = await publishedBy(node);
      for (const idToken of idTokens) await t.notThrowsAsync(verify(idToken, keys, app));
    }
    t.true(new Set(idTokens.map((idToken) => decodeProtectedHeader(idToken).kid)).size > 1);
  },
);

const uses = (keys: readonly { use: string; status: string }[]): string[] =>
  keys.map(({ status, use }) => `${use} ${status}`);

test.serial(
  'the keys of ID tokens are listed with their use, by a node and on the command line, and rotated there',
  async (t) => {
    const address = `sqlite:${temporaryFile()}`;
    await using platform = await startPlatform({ openid: true, storage: await openStorage(t, address) });
    t.deepEqual(uses(platform.auth.signingKeys.list()), ['token active', 'id_token active']);
    const list = async () =>
      gatehouseJson<{ keys: { kid: string; use: string; status: string }[] }>('signing-keys list', {
        DATABASE_URL: address,
      });
    t.deepEqual(
      (await list()).keys.map(({ kid }) => kid),
      platform.auth.signingKeys.list().map(({ id }) => id),
    );
    await gatehouseJson('signing-keys rotate --after 30', { DATABASE_URL: address });
    passTime(31);
    t.deepEqual(uses((await list()).keys), [
      'token active',
      'token retired',
      'id_token active',
      'id_token retired',
    ]);
    // Where one key signs both, it is listed once.
    await using shared = await startPlatform({ openid: OPENID });
    t.deepEqual(uses(shared.auth.signingKeys.list()), ['token active']);
  },
);
