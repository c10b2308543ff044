import type { ExecutionContext } from 'ava';
import type { Assignment, User } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { passTime } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { clientToken } from '../harness/tokens.ts';

const TIMES = 5;

interface Nodes {
  readonly here: Platform;
  readonly there: Platform;
  /** Removes a user. */
  readonly remove: (id: string) => void;
}

/** Two nodes on one database that also stores role assignments. Every user id exists until it is removed. */
async function startNodes(t: ExecutionContext, address: string): Promise<Nodes> {
  const gone = new Set<string>();
  const users = {
    authenticate: async () => undefined,
    find: async (id: string): Promise<User | undefined> => (gone.has(id) ? undefined : { id }),
  };
  const nodes: Platform[] = [];
  for (let node = 0; node < 2; node += 1) {
    const storage = knexStorage(address);
    let ownOrigin = '';
    const platform = await startPlatform(
      { storage, users: users as never, tokens: { revocationLag: 1 } },
      {
        // Both nodes have one issuer.
        inFront(origin) {
          ownOrigin = origin;
          return nodes[0]?.origin ?? origin;
        },
        reach: (url) => new URL(url.pathname + url.search, ownOrigin),
      },
    );
    t.teardown(async () => {
      await platform[Symbol.asyncDispose]();
      await storage.close();
    });
    nodes.push(platform);
  }
  return { here: nodes[0]!, there: nodes[1]!, remove: (id) => void gone.add(id) };
}

async function registerOwned(
  { auth }: Platform,
  owner: string | undefined,
  assignment: Partial<Assignment>,
): Promise<RegisteredApp> {
  const { client, secret } = await auth.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
    ownerId: owner,
    ...(assignment as object),
  });
  return { client, secret: secret!.value, redirectUri: '' };
}

async function statusAt(platform: Platform, token: string): Promise<number> {
  return (await platform.api('/schools', token)).status;
}

onEachDatabaseInSeries(
  'a permission that the owner loses is lost to the client, on every node within tokens.revocationLag',
  async (t, _, address) => {
    const { here, there } = await startNodes(t, address);
    for (let time = 0; time < TIMES; time += 1) {
      const owner = `owner-${time}`;
      await here.auth.assignments.assign(owner, { permissions: ['view_schools'] });
      const app = await registerOwned(here, owner, { permissions: ['view_schools', 'edit_schools'] });
      const token = await clientToken(here, app);
      t.is(await statusAt(here, token), 200);
      t.is(await statusAt(there, token), 200);
      const before = (await here.api('/identity', token)).body['data'];
      t.like(before, {
        permissions: ['view_schools'],
        permission_sources: { view_schools: [{ type: 'direct' }] },
        withheld_permissions: [],
      });

      await here.auth.assignments.assign(owner, {});
      const refused = await here.api('/schools', token);
      t.is(refused.status, 403, 'at once on the node that changed the assignment');
      t.is(refused.headers.get('www-authenticate'), null, 'no other token has the permission');
      passTime(1.1);
      t.is(await statusAt(there, token), 403);
      t.is(await statusAt(there, await clientToken(there, app)), 403, 'a new token too');

      await here.auth.assignments.assign(owner, { roles: ['registrar'] });
      t.is(await statusAt(here, token), 200, 'the owner has the permission again');
    }
  },
);

onEachDatabaseInSeries('a client whose owner is removed has no permissions', async (t, _, address) => {
  const { here, remove, there } = await startNodes(t, address);
  for (let time = 0; time < TIMES; time += 1) {
    const owner = `gone-${time}`;
    await here.auth.assignments.assign(owner, { roles: ['registrar'] });
    const app = await registerOwned(here, owner, { roles: ['registrar'], permissions: ['view_schools'] });
    const token = await clientToken(here, app);
    t.is(await statusAt(there, token), 200);
    remove(owner);
    passTime(1.1);
    for (const node of [here, there]) {
      t.is(await statusAt(node, token), 403);
      const { body } = await node.api('/identity', token);
      t.like(body['data'], { permissions: [], roles: [], withheld_permissions: [] });
    }
  }
});

onEachDatabaseInSeries('a client without an owner has its own permissions', async (t, _, address) => {
  const { here } = await startNodes(t, address);
  const app = await registerOwned(here, undefined, { permissions: ['view_schools'] });
  t.is(await statusAt(here, await clientToken(here, app)), 200);
});

onEachDatabaseInSeries(
  "of a client's role, only the permissions that the owner has apply",
  async (t, _, address) => {
    const { here } = await startNodes(t, address);
    await here.auth.assignments.assign('part', { permissions: ['view_schools'] });
    const app = await registerOwned(here, 'part', { roles: ['registrar'] });
    const { body } = await here.api('/identity', await clientToken(here, app));
    t.like(body['data'], {
      roles: [],
      permissions: ['view_schools'],
      permission_sources: { view_schools: [{ type: 'role', role: 'registrar' }] },
    });
  },
);
