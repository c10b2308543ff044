import test from 'ava';

import {
  createFindClientPermissions,
  createUserAssignments,
  createPrincipalLoader,
} from '../../lib/access/principal.ts';
import type { AccessTokenClaims, Client, Principal } from '../../lib/contracts/index.ts';
import { app, gate, unusedAssignments, person, API } from './platform.ts';
import type { Permission, Person } from './platform.ts';

function claims(changes: Partial<AccessTokenClaims>): AccessTokenClaims {
  const common = {
    iss: 'https://platform.example',
    aud: 'https://platform.example',
    iat: 0,
    exp: 1,
    jti: 'token-1',
  };
  return { ...common, sub: 'ann', client_id: 'reports', principal: 'user', ...changes };
}

/** Loads the principal of a token of these users and clients. */
function loader(
  people: readonly Person[],
  clients: readonly Client[],
): (claimed: AccessTokenClaims) => Promise<Principal<Permission, Person> | undefined> {
  const userAssignments = createUserAssignments<Person>({
    users: {
      find: async (id) => people.find((user) => user.id === id),
      permissions: async (user) => user.permissions,
      roles: async (user) => user.roles,
    },
    assignments: unusedAssignments,
  });
  const load = createPrincipalLoader<Permission, Person>({
    gate,
    api: API,
    userAssignments,
    clientPermissions: createFindClientPermissions(gate, userAssignments),
    clients: {
      async find(id) {
        const client = clients.find((candidate) => candidate.id === id);
        return client && { client, secrets: [], sequence: 0 };
      },
    },
  });
  return async (claimed) => (await load(claimed))?.principal;
}

test('the principal of a user token is the user, with direct permissions and those of roles', async (t) => {
  const ann = person({ permissions: ['view_grades'], roles: ['registrar'] });
  const reports = app({ id: 'reports' });
  const principal = await loader([ann], [reports])(claims({}));
  t.is(principal?.type, 'user');
  t.is(principal?.user, ann);
  t.is(principal?.client, reports);
  t.deepEqual(principal?.roles, ['registrar']);
  t.deepEqual(principal?.scopes, []);
  t.deepEqual([...(principal?.permissions ?? [])].toSorted(), [
    'edit_schools',
    'view_grades',
    'view_schools',
  ]);
  t.true(principal?.can('view_grades'));
  t.true(Object.isFrozen(principal));
});

test('the principal of a client token is the client, with its own permissions', async (t) => {
  const sync = app({ id: 'sync', permissions: ['view_grades'], roles: [] });
  const principal = await loader([], [sync])(claims({ principal: 'client', sub: 'sync', client_id: 'sync' }));
  t.is(principal?.type, 'client');
  t.is(principal?.user, undefined);
  t.is(principal?.client, sync);
  t.true(principal?.can('view_grades'));
  t.false(principal?.can('view_schools'));
});

test('a client with the id of a user is not that user, nor the user the client', async (t) => {
  const same = 'ann';
  const load = loader(
    [person({ id: same, roles: ['registrar'] })],
    [app({ id: same, permissions: ['view_grades'] })],
  );
  const asClient = await load(claims({ principal: 'client', sub: same, client_id: same }));
  t.is(asClient?.type, 'client');
  t.is(asClient?.user, undefined);
  t.deepEqual([...(asClient?.permissions ?? [])], ['view_grades']);
  const asUser = await load(claims({ principal: 'user', sub: same, client_id: same }));
  t.is(asUser?.type, 'user');
  t.is(asUser?.user?.id, same);
  t.false(asUser?.can('view_grades'));
});

test('scopes limit the permissions of the user, and add none', async (t) => {
  const load = loader([person({ roles: ['registrar'] })], [app({ id: 'reports' })]);
  const limited = await load(claims({ scope: 'schools:read grades:read' }));
  t.deepEqual(limited?.scopes, ['schools:read', 'grades:read']);
  t.deepEqual([...(limited?.permissions ?? [])], ['view_schools']);
  t.deepEqual(
    [...(limited?.sources.keys() ?? [])],
    ['view_schools', 'edit_schools'],
    'the assigned permissions are unchanged',
  );
  t.is((await load(claims({ scope: 'profile' })))?.permissions.size, 0);
  t.is((await load(claims({ scope: 'toString withdrawn' })))?.permissions.size, 0);
});

test('scopes limit a client as they limit a user', async (t) => {
  const load = loader([], [app({ id: 'sync', roles: ['registrar'] })]);
  const ofSync = { principal: 'client', sub: 'sync', client_id: 'sync' } as const;
  t.deepEqual(
    [...((await load(claims({ ...ofSync, scope: 'schools:read' })))?.permissions ?? [])],
    ['view_schools'],
  );
});

test('without scopes, or with an empty string, all assigned permissions apply', async (t) => {
  const load = loader([person({ roles: ['registrar'] })], [app({ id: 'reports' })]);
  t.is((await load(claims({})))?.permissions.size, 2);
  t.is((await load(claims({ scope: '' })))?.permissions.size, 2);
});

test('there is no principal when the user or the client is removed, or the client disabled', async (t) => {
  const ann = person();
  t.is(await loader([], [app({ id: 'reports' })])(claims({})), undefined);
  t.is(await loader([ann], [])(claims({})), undefined);
  t.is(await loader([ann], [app({ id: 'reports', disabled: true })])(claims({})), undefined);
  const ofSync = claims({ principal: 'client', sub: 'sync', client_id: 'sync' });
  t.is(await loader([ann], [])(ofSync), undefined);
  t.is(await loader([ann], [app({ id: 'sync', disabled: true })])(ofSync), undefined);
});

test('there is no principal when the token has no principal claim', async (t) => {
  const unmarked = { ...claims({}), principal: undefined };
  t.is(await Reflect.apply(loader([person()], [app({ id: 'reports' })]), undefined, [unmarked]), undefined);
});

test('roles() of a user store is optional, and methods are called on the store', async (t) => {
  const store = {
    assigned: ['view_grades'],
    async find(id: string) {
      return { id };
    },
    async permissions() {
      return this.assigned;
    },
  };
  const clients = { find: async () => ({ client: app(), secrets: [], sequence: 0 }) };
  const userAssignments = createUserAssignments({ users: store, assignments: unusedAssignments });
  const clientPermissions = createFindClientPermissions(gate, userAssignments);
  const loaded = await createPrincipalLoader({
    gate,
    api: API,
    userAssignments,
    clientPermissions,
    clients,
  })(claims({}));
  const principal = loaded?.principal;
  t.deepEqual(principal?.roles, []);
  t.true(principal?.can('view_grades'));
});
