import test from '../harness/test.ts';
import type { User } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { like } from '../harness/like.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { clientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import type { Assignment } from '../../lib/contracts/people.ts';

// Two nodes on one storage that also stores role assignments. Every user id exists until it is removed.
const gone = new Set<string>();
const users = {
  verifyPassword: async () => undefined,
  find: async (id: string): Promise<User | undefined> => (gone.has(id) ? undefined : { id }),
};
const storage = memoryStorage();
const options = { storage, users: users as never, tokens: { revocationLag: 1 } };
const started = shared(async (stack) => {
  const here = await startPlatform(options);
  const there = await startPlatform({ ...options, issuer: here.origin });
  stack.defer(async () => {
    await there[Symbol.asyncDispose]();
    await here[Symbol.asyncDispose]();
  });
  const { assignments, clients } = here.auth;
  return { here, there, assignments, clients };
});

/** A token of a new client, by which it gets another one. */
async function tokenOf(ownerId: string | undefined, assignment: Partial<Assignment>) {
  const { clients, here } = await started();
  const app = await clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
    ownerId,
    ...(assignment as object),
  });
  const registered = { client: app.client, secret: app.secret!.value };
  return { token: await clientToken(here, registered), next: async () => clientToken(here, registered) };
}

async function statusAt(platform: Platform, token: string): Promise<number> {
  return (await platform.api('/schools', token)).status;
}

async function identity(token: string): Promise<unknown> {
  const { here } = await started();
  return (await here.api('/identity', token)).body['data'];
}

test.serial(
  'a permission that the owner loses is lost to the client, on every node within tokens.revocationLag',
  async (t) => {
    const { assignments, here, there } = await started();
    await assignments.set('owner', { permissions: ['view_schools'] });
    const { token, next } = await tokenOf('owner', { permissions: ['view_schools', 'edit_schools'] });
    for (const node of [here, there]) t.is(await statusAt(node, token), 200);
    like(t, await identity(token), {
      permissions: ['view_schools'],
      permission_sources: { view_schools: [{ type: 'direct' }] },
      withheld_permissions: [],
    });

    await assignments.set('owner', {});
    const refused = await here.api('/schools', token);
    t.is(refused.status, 403, 'at once on the node that changed the assignment');
    t.is(refused.headers.get('www-authenticate'), null, 'no other token has the permission');
    passTime(1.1);
    t.is(await statusAt(there, token), 403);
    t.is(await statusAt(there, await next()), 403, 'a new token too');

    await assignments.set('owner', { roles: ['registrar'] });
    t.is(await statusAt(here, token), 200, 'the owner has the permission again');
  },
);

test.serial('a client whose owner is removed has no permissions', async (t) => {
  const { assignments, there, here } = await started();
  await assignments.set('gone', { roles: ['registrar'] });
  const { token } = await tokenOf('gone', { roles: ['registrar'], permissions: ['view_schools'] });
  t.is(await statusAt(there, token), 200);
  gone.add('gone');
  passTime(1.1);
  for (const node of [here, there]) t.is(await statusAt(node, token), 403);
  t.like(await identity(token), { permissions: [], roles: [], withheld_permissions: [] });
});

test('a client without an owner has its own permissions, one with an owner those of its role that the owner has', async (t) => {
  const { here, assignments } = await started();
  const own = await tokenOf(undefined, { permissions: ['view_schools'] });
  t.is(await statusAt(here, own.token), 200);
  await assignments.set('part', { permissions: ['view_schools'] });
  const { token } = await tokenOf('part', { roles: ['registrar'] });
  like(t, await identity(token), {
    roles: [],
    permissions: ['view_schools'],
    permission_sources: { view_schools: [{ type: 'role', role: 'registrar' }] },
  });
});
