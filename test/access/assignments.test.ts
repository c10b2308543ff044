import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { AuditRecord, AuthServerOptions } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { like } from '../harness/like.ts';
import { runCodeFlow, people, startPlatform } from '../harness/platform.ts';
import type { PasswordStore, Person, Platform } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import { clientToken } from '../harness/tokens.ts';
import { AssignmentInvalidError } from '../../lib/errors.ts';
import { endWith } from '../harness/serve.ts';

/** A user store without `permissions()` and `roles()`: Ann is '1', Bob '2'. */
function withoutPermissions(store: PasswordStore): PasswordStore {
  return {
    verifyPassword: async (login, password) => store.verifyPassword(login, password),
    find: async (id) => store.find(id),
  };
}

const users = withoutPermissions(people());

/** A platform that stores role assignments, and an access token of Ann. */
async function startWithAnn(
  t: ExecutionContext,
  options: Partial<AuthServerOptions<'view_schools' | 'edit_schools', 'registrar', Person>> = {},
): Promise<{ platform: Platform; token: string; schools: () => Promise<number> }> {
  const platform = endWith(t, await startPlatform({ users, ...options }));
  const { body } = await runCodeFlow(platform, await platform.registerApp());
  const token = body.access_token;
  return { platform, token, schools: async () => (await platform.api('/schools', token)).status };
}

test('an assigned role or permission applies to requests at once, and its removal too, with an event for each change', async (t) => {
  const { platform, schools } = await startWithAnn(t);
  const { assignments, events: audit } = platform.auth;
  const events: AuditRecord[] = [];
  audit.on('assignment_changed', (record) => events.push(record));
  t.deepEqual(await assignments.find('1'), { roles: [], permissions: [] });
  t.is(await schools(), 403);
  await assignments.set('1', { roles: ['registrar'] });
  t.is(await schools(), 200);
  await assignments.set('1', { permissions: ['edit_schools', 'edit_schools'] });
  t.deepEqual(await assignments.find('1'), { roles: [], permissions: ['edit_schools'] });
  t.is(await schools(), 403, 'the role is gone');
  await assignments.set('1', { permissions: ['view_schools'] });
  t.is(await schools(), 200);
  t.true(await assignments.delete('1'));
  t.is(await schools(), 403);
  t.false(await assignments.delete('1'));
  const ofAnn = { type: 'assignment_changed', userId: '1', roles: [], permissions: [] };
  like(t, events, [
    { ...ofAnn, roles: ['registrar'] },
    { ...ofAnn, permissions: ['edit_schools'] },
    { ...ofAnn, permissions: ['view_schools'] },
    ofAnn,
  ]);
  t.is(events.length, 4);
});

test('an assignment to a user applies to no other user, nor to a client with the same id', async (t) => {
  const { platform, schools } = await startWithAnn(t);
  const service = await platform.registerService();
  await platform.auth.assignments.set('2', { roles: ['registrar'] });
  await platform.auth.assignments.set(service.client.id, { roles: ['registrar'] });
  t.is(await schools(), 403);
  t.is((await platform.api('/schools', await clientToken(platform, service))).status, 403);
});

test('what is no assignment is an error that names each field, and changes nothing', async (t) => {
  const { platform } = await startWithAnn(t);
  const { assignments } = platform.auth;
  await assignments.set('1', { roles: ['registrar'] });
  const unknown = { roles: ['registrars', 'constructor'], permissions: ['view_schools', 'view_school'] };
  const noObject = 'assignment: give an object with roles and permissions';
  const noId = "userId: give a user's id, 1 to 255 characters";
  const notStrings = 'give an array of strings';
  for (const [userId, given, message] of [
    [
      '1',
      unknown,
      'roles: there is no role "registrars"; roles: there is no role "constructor"; permissions: there is no permission "view_school"',
    ],
    ['1', { role: ['registrar'] }, 'role: there is no such field; give roles and permissions'],
    ['1', { roles: 'registrar' }, `roles: ${notStrings}`],
    ['1', { roles: [1], permissions: null }, `roles: ${notStrings}; permissions: ${notStrings}`],
    ['1', undefined, noObject],
    ['1', null, noObject],
    ['1', [], noObject],
    ['', {}, noId],
    [1, {}, noId],
    ['x'.repeat(256), {}, noId],
  ] as const) {
    const { fields, status } = await t.throwsAsync(assignments.set(userId as string, given as object), {
      instanceOf: AssignmentInvalidError,
      code: 'ERR_ASSIGNMENT_INVALID',
      message,
    });
    t.is(status, 422);
    t.is(fields.map((one) => `${one.field}: ${one.message}`).join('; '), message);
  }
  t.deepEqual(await assignments.find('1'), { roles: ['registrar'], permissions: [] });
});

test('a removed user has no access, even with an assignment', async (t) => {
  const store = people();
  const { platform, token } = await startWithAnn(t, { users: withoutPermissions(store) });
  store.all.shift();
  await platform.auth.assignments.set('1', { roles: ['registrar'] });
  t.is((await platform.api('/schools', token)).body['code'], 'token_holder_gone');
});

test('a user store with permissions() or roles() is the only source, and assign() is an error', async (t) => {
  class OwnRoles {
    readonly assigned = ['registrar'];
    async verifyPassword(): Promise<Person | undefined> {
      return users.find('1');
    }
    async find(id: string): Promise<Person | undefined> {
      return users.find(id);
    }
    async roles(): Promise<string[]> {
      return this.assigned;
    }
  }
  const byRole = [{ type: 'role', role: 'registrar' }];
  for (const [own, sources] of [
    [new OwnRoles(), { edit_schools: byRole, view_schools: byRole }],
    [{ ...users, permissions: async () => ['view_schools'] }, { view_schools: [{ type: 'direct' }] }],
  ] as const) {
    const storage = memoryStorage();
    await storage.assignments.save('1', { roles: [], permissions: ['edit_schools'] });
    const { platform, token } = await startWithAnn(t, { users: own, storage });
    const { body } = await platform.api('/identity', token);
    t.deepEqual((body['data'] as Record<string, unknown>)['permission_sources'], sources);
    const { assignments } = platform.auth;
    for (const attempt of [
      async () => assignments.set('1', {}),
      async () => assignments.delete('1'),
      async () => assignments.find('1'),
    ]) {
      await t.throwsAsync(attempt, {
        code: 'ERR_CONFIG',
        message:
          'auth.assignments: not in use, because the user store has permissions() or roles(); change them there, or leave both out',
      });
    }
  }
});

test('an assignment that was read before a change is not cached', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const { platform, schools } = await startWithAnn(t, { storage });
  await platform.auth.assignments.set('1', { roles: ['registrar'] });
  const { reached, resume } = pause('revocations.isValid');
  const before = schools();
  await reached;
  await new Promise(setImmediate);
  await platform.auth.assignments.delete('1');
  t.is(await schools(), 403);
  resume();
  t.is(await before, 200, 'the assignment was read before the change');
  t.is(await schools(), 403);
});
