import test from '../harness/test.ts';

import { like } from '../harness/like.ts';
import { serveApi } from './api.ts';

const byRegistrar = [{ type: 'role', role: 'registrar' }];

test('a user token gets the user, the permissions with their sources, and the client', async (t) => {
  const { call, platform } = await serveApi(t);
  const token = await platform.userToken({ scope: 'schools:read profile' });
  const { status, body, type, headers } = await call('/identity', token);
  t.is(status, 200);
  t.is(type, 'application/json; charset=utf-8');
  t.is(headers.get('cache-control'), 'no-store');
  t.deepEqual(body, {
    data: {
      type: 'user',
      id: 'ann',
      name: 'Ann',
      email: 'ann@example.org',
      roles: ['registrar'],
      permissions: ['view_schools'],
      permission_sources: { view_schools: byRegistrar },
      withheld_permissions: ['edit_schools'],
      scopes: ['schools:read', 'profile'],
      client_id: '0a8f2c5e-6a31-4c55-9df0-30dd5be9a111',
    },
  });
});

test('permissions are sorted, each with all sources; members that the user does not have are null', async (t) => {
  const { call, platform } = await serveApi(t);
  const permissions = ['view_schools', 'view_grades', 'of the host only'];
  platform.users.set('7', { id: '7', permissions, roles: ['registrar', 'of the host only'] });
  const { body } = await call('/identity', await platform.userToken({ sub: '7' }));
  like(t, body['data'], {
    id: '7',
    name: null,
    email: null,
    roles: ['registrar', 'of the host only'],
    permissions: ['edit_schools', 'view_grades', 'view_schools'],
    permission_sources: {
      edit_schools: byRegistrar,
      view_grades: [{ type: 'direct' }],
      view_schools: [{ type: 'direct' }, ...byRegistrar],
    },
    withheld_permissions: [],
    scopes: [],
  });
});

test('a client token gets the identity of the client, with the permissions that its scopes exclude', async (t) => {
  const { call, platform } = await serveApi(t);
  const sync = [...platform.clients.values()].find(({ name }) => name === 'Sync')!;
  const { status, body } = await call('/identity', await platform.clientToken());
  t.is(status, 200);
  t.deepEqual(body, {
    data: {
      type: 'client',
      id: sync.id,
      name: 'Sync',
      email: null,
      roles: [],
      permissions: ['view_schools'],
      permission_sources: { view_schools: [{ type: 'direct' }] },
      withheld_permissions: [],
      scopes: [],
      client_id: sync.id,
    },
  });
  platform.clients.set(sync.id, { ...sync, roles: ['registrar'], permissions: ['view_grades'] });
  const limited = await platform.clientToken({ scope: 'profile' });
  like(t, (await call('/identity', limited)).body['data'], {
    permissions: [],
    permission_sources: {},
    withheld_permissions: ['edit_schools', 'view_grades', 'view_schools'],
  });
});

test('no other member of the user or the client is in the response', async (t) => {
  const { call, platform } = await serveApi(t);
  platform.users.set('ann', Object.assign(platform.users.get('ann')!, { passwordHash: 'a hash' }));
  const { body } = await call('/identity', await platform.userToken());
  t.false(JSON.stringify(body).includes('a hash'));
});
