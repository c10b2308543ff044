import test from '../harness/test.ts';
import type { Developer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { like } from '../harness/like.ts';
import { pausable } from '../harness/storage.ts';
import { shared } from '../harness/shared.ts';
import { once, REPORTS } from './area.ts';
import { openDeveloperPlatform, requestFrom, startDeveloperPlatform, userOf } from './developers.ts';

const MINE = { name: 'Mine', grantType: 'client_credentials' } as const;

const started = shared(async (stack) => {
  const platform = stack.use(await startDeveloperPlatform());
  const { auth, registerFor } = platform;
  const dora = await platform.developer('dora');
  const emil = await platform.developer('emil');
  const root = await platform.developer('root');
  return { auth, registerFor, dora, emil, root };
});

/** The names of the roles or permissions that a user may assign. */
function assignable(offered: Developer['roles'] | Developer['permissions']): string[] {
  return offered.filter((one) => one.assignable).map(({ name }) => name);
}

const ten = async (submit: () => Promise<unknown>): Promise<number> =>
  (await Promise.all(Array.from({ length: 10 }, submit))).filter(Boolean).length;

test('role assignments in the storage give access to the area', async (t) => {
  const users = { verifyPassword: async () => undefined, find: async (id: string) => ({ id }) };
  const storage = memoryStorage();
  const own = await openDeveloperPlatform(t, { users, storage });
  const enter = async (): Promise<Developer> => own.auth.developer(requestFrom('192.0.2.1'), { id: '7' });
  const error = await t.throwsAsync(enter, { message: 'Missing permission to manage apps.' });
  t.like(error, { code: 'ERR_PERMISSION_MISSING', status: 403, permission: 'manage_apps' });
  await storage.assignments.save('7', { roles: ['reader'], permissions: ['manage_apps'] });
  const developer = await enter();
  t.false(developer.administrator);
  t.deepEqual(assignable(developer.permissions), ['view_schools', 'manage_apps']);
});

test('an app of another user gives the same error as an app that does not exist', async (t) => {
  const { registerFor, auth, dora, root } = await started();
  await registerFor('dora', { name: 'Zebra' });
  for (const owner of ['emil', undefined] as const) {
    const { client } = await registerFor(owner, { name: 'Alien' });
    const [first] = await auth.clients.secrets(client.id);
    const asked: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
      find: (id) => dora.find(id),
      update: (id) => dora.update(id, { name: 'Mine now' }),
      setLogo: (id) => dora.setLogo(id, undefined),
      revokeTokens: (id) => dora.revokeTokens(id),
      disable: (id) => dora.disable(id),
      canEnable: (id) => dora.canEnable(id),
      enable: (id) => dora.enable(id),
      delete: (id) => dora.delete(id),
      secrets: (id) => dora.secrets(id),
      addSecret: (id) => dora.addSecret(id, { label: '', expiresAt: undefined }, once()),
      deleteSecret: (id) => dora.deleteSecret(id, first!.id),
      activity: (id) => dora.activity(id),
      usage: (id) => dora.usage(id),
    };
    for (const [name, ask] of Object.entries(asked)) {
      for (const id of [client.id, 'f8d2a9d4-3f2c-4a52-9d2f-0d5f0e3b8f10', '', '\0', 'x'.repeat(300)]) {
        const error = await t.throwsAsync(ask(id), { message: `There is no client ${id}` }, name);
        t.like(error, { code: 'ERR_CLIENT_NOT_FOUND', status: 404 }, name);
      }
    }
    t.deepEqual(await auth.clients.find(client.id), client);
    t.deepEqual(await auth.clients.secrets(client.id), [first!]);
    t.deepEqual(await dora.list({ after: client.id }), []);
    t.deepEqual(await root.find(client.id), client);
    t.is((await root.owner(client))?.id, owner);
  }
  const listed = await dora.list({ ownerId: 'emil' } as never);
  t.true(listed.length > 0 && listed.every(({ ownerId }) => ownerId === 'dora'));
});

test('ownerId and lifetimes are ignored: an app belongs to the user who created it', async (t) => {
  const { dora, root, auth } = await started();
  for (const [member, developer] of Object.entries({ dora, root })) {
    const ignored = { ownerId: 'emil', lifetimes: { accessToken: '1 hour' } };
    const made = await developer.create({ ...MINE, ...ignored }, once());
    t.like(made?.client, { ownerId: member, lifetimes: {} });
    await auth.clients.update(made!.client.id, { lifetimes: { accessToken: 60 } });
    const changed = await developer.update(made!.client.id, { name: 'Renamed', ...ignored });
    t.like(changed, { ownerId: member, name: 'Renamed', lifetimes: { accessToken: 60 } });
  }
});

test('a user can assign permissions that the user has, and roles whose permissions the user all has', async (t) => {
  const { dora, emil, root } = await started();
  t.deepEqual(assignable(dora.permissions), ['view_schools', 'edit_schools', 'manage_apps']);
  t.deepEqual(assignable(dora.roles), ['reader', 'registrar']);
  t.deepEqual(assignable(emil.permissions), ['close_schools', 'manage_apps']);
  // A role without permissions may have a meaning in the host: only its members can assign it.
  t.deepEqual(assignable(emil.roles), []);
  t.deepEqual(assignable(root.roles), ['reader', 'registrar', 'headmaster', 'janitor']);
  t.is(assignable(root.permissions).length, 5);
  const made = await dora.create({ ...MINE, roles: ['reader'], permissions: ['edit_schools'] }, once());
  like(t, made?.client, { roles: ['reader'], permissions: ['edit_schools'] });
});

test('other roles and permissions, firstParty and fields that only the server sets are refused', async (t) => {
  const { registerFor, dora, auth } = await started();
  const { client } = await registerFor('dora');
  for (const [fields, message] of [
    [{ permissions: ['close_schools'] }, 'permissions: you cannot assign "close_schools"'],
    [
      { permissions: ['view_schools', 'manage_all_apps'] },
      'permissions: you cannot assign "manage_all_apps"',
    ],
    [{ permissions: ['no_such_thing'] }, 'permissions: you cannot assign "no_such_thing"'],
    [{ permissions: [7] }, 'permissions: you cannot assign "7"'],
    [{ permissions: 'view_schools' }, 'permissions: give an array of strings'],
    [{ permissions: { 0: 'view_schools' } }, 'permissions: give an array of strings'],
    [{ roles: ['headmaster'] }, 'roles: you cannot assign "headmaster"'],
    [{ roles: ['janitor'] }, 'roles: you cannot assign "janitor"'],
    [{ roles: ['constructor'] }, 'roles: you cannot assign "constructor"'],
    [{ firstParty: true }, 'firstParty: only an administrator can set this'],
    [{ firstParty: 'true' }, 'firstParty: only an administrator can set this'],
    [{ id: 'x' }, 'id: there is no such field'],
    [{ disabled: true }, 'disabled: there is no such field'],
    [{ createdAt: 0 }, 'createdAt: there is no such field'],
    [{ hash: 'x' }, 'hash: there is no such field'],
  ] as const) {
    for (const attempt of [
      dora.create({ ...MINE, ...fields } as never, once()),
      dora.update(client.id, fields as never),
    ]) {
      const error = await t.throwsAsync(attempt, { message });
      t.like(error, { code: 'ERR_CLIENT_INVALID', status: 422 });
    }
  }
  await t.throwsAsync(dora.update(client.id, { grantType: 'authorization_code' } as never), {
    message: 'grantType: cannot be changed; register another client',
  });
  t.deepEqual(await auth.clients.find(client.id), client);
  const { client: marked } = await registerFor('dora', { ...REPORTS, firstParty: true });
  await t.throwsAsync(dora.update(marked.id, { firstParty: false }), {
    message: 'firstParty: only an administrator can set this',
  });
});

test('while an owner saves, an assignment by an administrator is not undone, and another owner keeps the app', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const own = await openDeveloperPlatform(t, { storage });
  const [owner, administrator] = [await own.developer('dora'), await own.developer('root')];
  const { client } = await own.registerFor('dora', { permissions: ['close_schools', 'view_schools'] });
  const assigning = pause('clients.update');
  const assigned = owner.update(client.id, { permissions: ['edit_schools'] });
  await assigning.reached;
  await administrator.update(client.id, { roles: ['headmaster'], permissions: ['view_schools'] });
  assigning.resume();
  like(t, await assigned, { roles: ['headmaster'], permissions: ['edit_schools'] });
  t.deepEqual(await own.auth.clients.find(client.id), await assigned);

  const saving = pause('clients.update');
  const saved = owner.update(client.id, { name: 'Mine' });
  await saving.reached;
  await own.auth.clients.update(client.id, { ownerId: 'emil' });
  saving.resume();
  await t.throwsAsync(saved, { code: 'ERR_CLIENT_NOT_FOUND', message: `There is no client ${client.id}` });
  t.like(await own.auth.clients.find(client.id), { name: 'Nightly import', ownerId: 'emil' });
});

test('an app with roles, permissions or scopes that are no longer defined can be updated', async (t) => {
  const storage = memoryStorage();
  const own = await openDeveloperPlatform(t, { storage });
  const owner = await own.developer('dora');
  const { client } = await own.registerFor('dora', { permissions: ['view_schools'] });
  const gone = { roles: ['gone', 'reader'], permissions: ['gone_too', 'view_schools'] };
  await storage.clients.update({ ...client, ...gone });
  const known = { roles: ['reader'], permissions: ['view_schools'] };
  t.like(await owner.update(client.id, { name: 'Renamed' }), { name: 'Renamed', ...known });

  const reports = await own.registerFor('dora', REPORTS);
  await storage.clients.update({ ...reports.client, scopes: ['gone', 'schools:read'] });
  t.deepEqual((await owner.update(reports.client.id, { name: 'Renamed' })).scopes, ['schools:read']);
  t.is((await owner.update(reports.client.id, { scopes: undefined })).scopes, undefined);
});

test('an owner can enable an app that the owner has disabled, and no other', async (t) => {
  const { registerFor, root, auth, dora, emil } = await started();
  const { client } = await registerFor('dora');
  // The latter by a program or on the command line.
  for (const other of [root, auth.clients]) {
    t.true((await dora.disable(client.id)).disabled);
    t.true(await dora.canEnable(client.id));
    t.false((await dora.enable(client.id)).disabled);
    for (const isDisabledBefore of [false, true]) {
      if (isDisabledBefore) await dora.disable(client.id);
      await other.disable(client.id);
      t.false(await dora.canEnable(client.id));
      const message = 'Missing permission to manage all apps.';
      const error = await t.throwsAsync(dora.enable(client.id), { message });
      t.like(error, { code: 'ERR_PERMISSION_MISSING', permission: 'manage_all_apps' });
      await dora.disable(client.id);
      t.false(await dora.canEnable(client.id));
      t.true(await root.canEnable(client.id));
      await root.enable(client.id);
    }
  }
  await dora.disable(client.id);
  await auth.clients.update(client.id, { ownerId: 'emil' });
  await emil.disable(client.id);
  t.false(await emil.canEnable(client.id));
  await auth.clients.update(client.id, { ownerId: 'dora' });
  t.false((await dora.enable(client.id)).disabled);
});

test('an app that is disabled while its owner enables it stays disabled', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const own = await openDeveloperPlatform(t, { storage });
  const owner = await own.developer('dora');
  for (const other of [await own.developer('root'), own.auth.clients]) {
    const { client } = await own.registerFor('dora');
    await owner.disable(client.id);
    const { reached, resume } = pause('clients.update');
    const enabling = owner.enable(client.id);
    await reached;
    await other.disable(client.id);
    resume();
    await t.throwsAsync(enabling, { code: 'ERR_PERMISSION_MISSING' });
    t.true((await own.auth.clients.find(client.id))?.disabled);
  }
});

test('ten concurrent submissions of one form create one app, or add one secret', async (t) => {
  const { dora, emil, registerFor } = await started();
  const same = once();
  t.is(await ten(async () => dora.create({ ...MINE, name: 'Submitted' }, same)), 1);
  t.is(await dora.create(MINE, same), undefined);
  const [client, ...more] = await dora.list({ search: 'Submitted' });
  t.is(more.length, 0);
  // A form of another user may have the same string.
  t.truthy(await emil.create(MINE, same));

  const secret = { label: 'production', expiresAt: undefined };
  t.is(await ten(async () => dora.addSecret(client!.id, secret, same)), 1);
  t.is((await dora.secrets(client!.id)).length, 2);
  t.truthy(await dora.addSecret((await registerFor('dora')).client.id, secret, same));
});

test('a user can have 100 apps, an administrator more', async (t) => {
  const own = await openDeveloperPlatform(t);
  for (const member of ['dora', 'root'] as const)
    for (let count = 0; count < 100; count += 1) await own.registerFor(member);
  const owner = await own.developer('dora');
  const error = await t.throwsAsync(owner.create(MINE, once()), {
    message: 'apps: a user can have at most 100 apps; delete one first',
  });
  t.like(error, { code: 'ERR_CLIENT_INVALID', status: 422 });
  const [first] = await owner.list();
  t.true(await owner.delete(first!.id));
  t.truthy(await owner.create(MINE, once()));
  t.truthy(await (await own.developer('root')).create(MINE, once()));
});

test('audit events of the area have the user and the address', async (t) => {
  const { auth } = await started();
  const developer = await auth.developer(requestFrom('192.0.2.7'), userOf('dora'));
  const made = await developer.create(MINE, once());
  const { id } = made!.client;
  await developer.update(id, { name: 'Renamed' });
  const added = await developer.addSecret(id, { label: 'May', expiresAt: undefined }, once());
  await developer.deleteSecret(id, added!.id);
  await developer.disable(id);
  await developer.enable(id);
  await developer.delete(id);
  const records = await auth.audit.list({ clientId: id });
  t.is(records.length, 8);
  for (const record of records) t.like(record, { actorId: 'dora', address: '192.0.2.7' });
  const everything = JSON.stringify(records);
  for (const value of [made!.secret!.value, added!.value]) t.false(everything.includes(value));
});
