import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { AuditRecord, AuthServerOptions, UserStore } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { runCodeFlow, people, startPlatform } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';
import { around, pausable } from '../harness/storage.ts';
import type { Around } from '../harness/storage.ts';
import { requestClientToken } from '../harness/tokens.ts';

/** A user store without `permissions()` and `roles()`: Ann is '1', Bob '2'. */
function withoutPermissions(store: UserStore<Person>): UserStore<Person> {
  return {
    authenticate: async (login, password) => store.authenticate(login, password),
    find: async (id) => store.find(id),
  };
}

const users = withoutPermissions(people());

type Options = Partial<AuthServerOptions<'view_schools' | 'edit_schools', 'registrar', Person>>;

/** A platform that stores role assignments, and an access token of Ann. */
async function startWithAnn(
  t: ExecutionContext,
  options: Options = {},
): Promise<{ platform: Platform; token: string; schools: () => Promise<number> }> {
  const platform = await startPlatform({ users, ...options });
  t.teardown(async () => platform[Symbol.asyncDispose]());
  const { body } = await runCodeFlow(platform, await platform.registerApp());
  const token = body.access_token;
  return { platform, token, schools: async () => (await platform.api('/schools', token)).status };
}

test('an assigned role or permission applies to requests at once, and its removal too', async (t) => {
  const { platform, schools } = await startWithAnn(t);
  const { assignments } = platform.auth;
  t.deepEqual(await assignments.find('1'), { roles: [], permissions: [] });
  t.is(await schools(), 403);
  await assignments.assign('1', { roles: ['registrar'] });
  t.is(await schools(), 200);
  await assignments.assign('1', { permissions: ['edit_schools'] });
  t.deepEqual(await assignments.find('1'), { roles: [], permissions: ['edit_schools'] });
  t.is(await schools(), 403, 'the role is gone');
  await assignments.assign('1', { permissions: ['view_schools'] });
  t.is(await schools(), 200);
  t.true(await assignments.delete('1'));
  t.is(await schools(), 403);
  t.false(await assignments.delete('1'));
});

test('the identity endpoint names the role or the assignment that each permission comes from', async (t) => {
  const { platform, token } = await startWithAnn(t);
  await platform.auth.assignments.assign('1', { roles: ['registrar'], permissions: ['view_schools'] });
  const { body } = await platform.api('/identity', token);
  t.like(body['data'], {
    roles: ['registrar'],
    permission_sources: {
      edit_schools: [{ type: 'role', role: 'registrar' }],
      view_schools: [{ type: 'direct' }, { type: 'role', role: 'registrar' }],
    },
  });
});

test('an assignment to a user applies to no other user, nor to a client with the same id', async (t) => {
  const { platform, schools } = await startWithAnn(t);
  const service = await platform.registerService();
  await platform.auth.assignments.assign('2', { roles: ['registrar'] });
  await platform.auth.assignments.assign(service.client.id, { roles: ['registrar'] });
  t.is(await schools(), 403);
  const { body } = await requestClientToken(platform, service);
  t.is((await platform.api('/schools', body.access_token)).status, 403);
});

test('assigning unknown roles or permissions is an error that names each field, and changes nothing', async (t) => {
  const { platform } = await startWithAnn(t);
  const { assignments } = platform.auth;
  await assignments.assign('1', { roles: ['registrar'] });
  const error = await t.throwsAsync(
    assignments.assign('1', {
      // @ts-expect-error there are no such roles
      roles: ['registrars', 'constructor', 'registrars'],
      // @ts-expect-error there is no such permission
      permissions: ['view_schools', 'view_school'],
    }),
    {
      name: 'AssignmentInvalidError',
      code: 'ERR_ASSIGNMENT_INVALID',
      message:
        'roles: there is no role "registrars"; roles: there is no role "constructor"; permissions: there is no permission "view_school"',
    },
  );
  t.like(error, {
    status: 422,
    fields: [
      { field: 'roles', message: 'there is no role "registrars"' },
      { field: 'roles', message: 'there is no role "constructor"' },
      { field: 'permissions', message: 'there is no permission "view_school"' },
    ],
  });
  t.deepEqual(await assignments.find('1'), { roles: ['registrar'], permissions: [] });
});

test('a value that is not an assignment is an error, and not taken for an empty assignment', async (t) => {
  const { platform } = await startWithAnn(t);
  const { assignments } = platform.auth;
  await assignments.assign('1', { roles: ['registrar'] });
  const wrong: [unknown, unknown, string][] = [
    ['1', { role: ['registrar'] }, 'role: there is no such field; give roles and permissions'],
    ['1', { roles: 'registrar' }, 'roles: give an array of strings'],
    [
      '1',
      { roles: [1], permissions: null },
      'roles: give an array of strings; permissions: give an array of strings',
    ],
    ['1', undefined, 'assignment: give an object with roles and permissions'],
    ['1', null, 'assignment: give an object with roles and permissions'],
    ['1', [], 'assignment: give an object with roles and permissions'],
    ['', {}, "userId: give a user's id, 1 to 255 characters"],
    [1, {}, "userId: give a user's id, 1 to 255 characters"],
    ['x'.repeat(256), {}, "userId: give a user's id, 1 to 255 characters"],
  ];
  for (const [userId, given, message] of wrong) {
    await t.throwsAsync(assignments.assign(userId as string, given as object), {
      code: 'ERR_ASSIGNMENT_INVALID',
      message,
    });
  }
  t.deepEqual(await assignments.find('1'), { roles: ['registrar'], permissions: [] });
});

test('a role or permission given twice counts once', async (t) => {
  const { platform } = await startWithAnn(t);
  await platform.auth.assignments.assign('1', { permissions: ['view_schools', 'view_schools'] });
  t.deepEqual(await platform.auth.assignments.find('1'), { roles: [], permissions: ['view_schools'] });
});

test('each change of an assignment is an audit event', async (t) => {
  const { platform } = await startWithAnn(t);
  const events: AuditRecord[] = [];
  platform.auth.events.on('assignment_changed', (record) => events.push(record));
  const { assignments } = platform.auth;
  await assignments.assign('1', { roles: ['registrar'] });
  await t.throwsAsync(assignments.assign('', {}));
  await assignments.delete('1');
  await assignments.delete('1');
  t.like(events, [
    { type: 'assignment_changed', userId: '1', roles: ['registrar'], permissions: [] },
    { type: 'assignment_changed', userId: '1', roles: [], permissions: [] },
  ]);
  t.is(events.length, 2);
});

test('a removed user has no access, even with an assignment', async (t) => {
  const store = people();
  const { platform, token } = await startWithAnn(t, {
    users: withoutPermissions(store),
  });
  await platform.auth.assignments.assign('1', { roles: ['registrar'] });
  store.all.shift();
  await platform.auth.assignments.assign('1', { roles: ['registrar'] });
  t.is((await platform.api('/schools', token)).body['code'], 'token_holder_gone');
});

test('a user store with permissions() or roles() is the only source, and assign() is an error', async (t) => {
  for (const own of [
    { roles: async () => ['registrar'] },
    { permissions: async () => ['view_schools'] },
    { roles: async () => ['registrar'], permissions: async () => [] },
  ]) {
    const reads: string[] = [];
    const storage = around(memoryStorage(), async (name, call) => {
      reads.push(name);
      return call();
    });
    const { platform, schools } = await startWithAnn(t, { users: { ...users, ...own }, storage });
    t.is(await schools(), 200);
    t.false(reads.some((name) => name.startsWith('assignments.')));
    const { assignments } = platform.auth;
    for (const attempt of [
      async () => assignments.assign('1', {}),
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

test('an uncached token of a known client costs two reads in parallel with the user look-up; a cached token costs none', async (t) => {
  const calls: string[] = [];
  let underway = 0;
  let most = 0;
  const watch: Around = async (name, call) => {
    calls.push(name);
    underway += 1;
    most = Math.max(most, underway);
    await new Promise(setImmediate);
    underway -= 1;
    return call();
  };
  const store = withoutPermissions(people());
  const find: typeof store.find = async (id) =>
    watch('users.find', async () => store.find(id)) as Promise<Person | undefined>;
  const { platform, schools } = await startWithAnn(t, {
    users: { ...store, find },
    storage: around(memoryStorage(), watch),
  });
  await platform.auth.assignments.assign('1', { roles: ['registrar'] });
  calls.length = 0;
  most = 0;
  t.is(await schools(), 200);
  t.deepEqual(calls.toSorted(), ['assignments.find', 'revocations.isValid', 'users.find']);
  t.is(most, 3);
  t.is(await schools(), 200);
  t.is(calls.length, 3);
});

test('an assignment that was read before a change is not cached', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const { platform, schools } = await startWithAnn(t, { storage });
  await platform.auth.assignments.assign('1', { roles: ['registrar'] });
  const { reached, resume } = pause('revocations.isValid');
  const before = schools();
  await reached;
  await new Promise(setImmediate);
  await platform.auth.assignments.delete('1');
  const after = schools();
  resume();
  t.is(await before, 200, 'the assignment was read before the change');
  t.is(await after, 403);
  t.is(await schools(), 403);
});

test('of two concurrent assignments, one applies as a whole', async (t) => {
  const { platform } = await startWithAnn(t);
  const { assignments } = platform.auth;
  const both = [
    { roles: ['registrar'], permissions: [] },
    { roles: [], permissions: ['view_schools'] },
  ] as const;
  await Promise.all(both.map(async (assignment) => assignments.assign('1', assignment)));
  const found = await assignments.find('1');
  t.true(both.some(({ roles }) => roles.length === found.roles.length));
  t.is(found.roles.length + found.permissions.length, 1);
});

test.serial('an assignment applies on another node within tokens.revocationLag', async (t) => {
  const storage = memoryStorage();
  const { platform: here, token } = await startWithAnn(t, { storage, tokens: { revocationLag: 10 } });
  const there = await startPlatform({ users, storage, tokens: { revocationLag: 10 }, issuer: here.origin });
  t.teardown(async () => there[Symbol.asyncDispose]());
  t.is((await there.api('/schools', token)).status, 403);
  await here.auth.assignments.assign('1', { roles: ['registrar'] });
  t.is((await here.api('/schools', token)).status, 200);
  t.is((await there.api('/schools', token)).status, 403);
  passTime(10);
  t.is((await there.api('/schools', token)).status, 200);
});
