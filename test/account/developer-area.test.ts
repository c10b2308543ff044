import test from 'ava';
import type { AuthServerOptions, PageTypes } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { around, pausable } from '../harness/storage.ts';
import { asClient } from '../harness/tokens.ts';
import { REPORTS } from './area.ts';
import { requestFrom, openDeveloperPlatform, userOf } from './developers.ts';

const MINE = { name: 'Mine', grantType: 'client_credentials' } as const;

/** The names of the roles or permissions that a user may assign. */
function assignable(offered: PageTypes.Developer['roles'] | PageTypes.Developer['permissions']): string[] {
  return offered.filter((one) => one.assignable).map(({ name }) => name);
}

async function names(area: PageTypes.Developer): Promise<string[]> {
  return (await area.list()).map(({ name }) => name);
}

let forms = 0;
/** The single-use string of a new form. */
function once(): string {
  forms += 1;
  return `form-number-${forms}`;
}

test('a user without the permission gets ERR_PERMISSION_MISSING with its message', async (t) => {
  const { developer } = await openDeveloperPlatform(t);
  const error = await t.throwsAsync(developer('ann'), { message: 'Missing permission to manage apps.' });
  t.like(error, { code: 'ERR_PERMISSION_MISSING', status: 403, permission: 'manage_apps' });
});

test('role assignments in the storage give access to the area', async (t) => {
  const users: AuthServerOptions['users'] = {
    authenticate: async () => undefined,
    find: async (id) => ({ id }),
  };
  const storage = memoryStorage();
  const { flow } = await openDeveloperPlatform(t, { users, storage });
  await t.throwsAsync(flow.developer(requestFrom('192.0.2.1'), { id: '7' }), {
    message: 'Missing permission to manage apps.',
  });
  await storage.assignments.save('7', { roles: ['reader'], permissions: ['manage_apps'] });
  const developer = await flow.developer(requestFrom('192.0.2.1'), { id: '7' });
  t.false(developer.administrator);
  t.deepEqual(assignable(developer.permissions), ['view_schools', 'manage_apps']);
});

test('an owner sees the own apps, an administrator all apps', async (t) => {
  const { developer, registerFor } = await openDeveloperPlatform(t);
  const [doras, emils, unowned] = [
    await registerFor('dora', { name: 'A' }),
    await registerFor('emil', { name: 'B' }),
    await registerFor(undefined, { name: 'C' }),
  ];
  t.deepEqual(await names(await developer('dora')), ['A']);
  t.deepEqual(await names(await developer('emil')), ['B']);
  t.deepEqual(await names(await developer('root')), ['A', 'B', 'C']);

  const root = await developer('root');
  t.true(root.administrator);
  for (const { client } of [doras, emils, unowned]) t.deepEqual(await root.find(client.id), client);
  t.is((await root.owner(doras.client))?.id, 'dora');
  t.is(await root.owner(unowned.client), undefined);
});

test('an app of another user gives the same error as an app that does not exist', async (t) => {
  const { auth, developer, registerFor } = await openDeveloperPlatform(t);
  const foreign = [await registerFor('emil', { name: 'Alien' }), await registerFor(undefined)];
  const dora = await developer('dora');
  const asked: Record<string, (id: string) => Promise<unknown>> = {
    find: (id) => dora.find(id),
    update: (id) => dora.update(id, { name: 'Mine now' }),
    revokeTokens: (id) => dora.revokeTokens(id),
    disable: (id) => dora.disable(id),
    canEnable: (id) => dora.canEnable(id),
    enable: (id) => dora.enable(id),
    delete: (id) => dora.delete(id),
    secrets: (id) => dora.secrets(id),
    addSecret: (id) => dora.addSecret(id, { label: '', expiresAt: undefined }, once()),
    activity: (id) => dora.activity(id),
  };
  for (const { client, secret } of foreign) {
    const [first] = await auth.clients.secrets(client.id);
    asked['deleteSecret'] = (id) => dora.deleteSecret(id, first!.id);
    for (const [name, ask] of Object.entries(asked)) {
      for (const id of [client.id, 'f8d2a9d4-3f2c-4a52-9d2f-0d5f0e3b8f10', '', '\0', 'x'.repeat(300)]) {
        const error = await t.throwsAsync(ask(id), { message: `There is no client ${id}` }, name);
        t.like(error, { code: 'ERR_CLIENT_NOT_FOUND', status: 404 }, name);
      }
    }
    t.deepEqual(await auth.clients.find(client.id), client);
    t.deepEqual(await auth.clients.secrets(client.id), [first!]);
    t.truthy(secret);
    await registerFor('dora', { name: 'Zebra' });
    t.deepEqual(await dora.list({ after: client.id }), []);
  }
  t.deepEqual(
    new Set((await dora.list({ ownerId: 'emil' } as never)).map(({ ownerId }) => ownerId)),
    new Set(['dora']),
  );
});

test('ownerId is ignored: a new app belongs to the user who created it', async (t) => {
  const { developer } = await openDeveloperPlatform(t);
  for (const member of ['dora', 'root'] as const) {
    const made = await (await developer(member)).create({ ...MINE, ownerId: 'emil' } as never, once());
    t.is(made?.client.ownerId, member);
    const changed = await (
      await developer(member)
    ).update(made!.client.id, { name: 'Renamed', ownerId: 'emil' } as never);
    t.like(changed, { ownerId: member, name: 'Renamed' });
  }
});

test('lifetimes are ignored: the developer area does not change them', async (t) => {
  const { auth, developer } = await openDeveloperPlatform(t);
  const dora = await developer('dora');
  const own = { lifetimes: { accessToken: '1 hour' } };
  const made = await dora.create({ ...MINE, ...own }, once());
  t.deepEqual(made?.client.lifetimes, {});
  await auth.clients.update(made!.client.id, { lifetimes: { accessToken: 60 } });
  const changed = await dora.update(made!.client.id, { name: 'Renamed', ...own });
  t.like(changed, { name: 'Renamed', lifetimes: { accessToken: 60 } });
});

test('a user can assign permissions that the user has, and roles whose permissions the user all has', async (t) => {
  const { developer } = await openDeveloperPlatform(t);
  const dora = await developer('dora');
  t.deepEqual(assignable(dora.permissions), ['view_schools', 'edit_schools', 'manage_apps']);
  t.deepEqual(assignable(dora.roles), ['reader', 'registrar']);
  const emil = await developer('emil');
  t.deepEqual(assignable(emil.permissions), ['close_schools', 'manage_apps']);
  // A role without permissions may have a meaning in the host: only its members can assign it.
  t.deepEqual(assignable(emil.roles), []);
  const root = await developer('root');
  t.deepEqual(assignable(root.roles), ['reader', 'registrar', 'headmaster', 'janitor']);
  t.is(assignable(root.permissions).length, 5);
  t.deepEqual(dora.scopes, [{ name: 'schools:read', description: 'See your schools' }]);

  const made = await dora.create({ ...MINE, roles: ['reader'], permissions: ['edit_schools'] }, once());
  t.like(made?.client, { roles: ['reader'], permissions: ['edit_schools'] });
});

test('other roles and permissions cannot be assigned, at registration or later', async (t) => {
  const { auth, developer, registerFor } = await openDeveloperPlatform(t);
  const dora = await developer('dora');
  const own = await registerFor('dora', { permissions: ['view_schools'] });
  const refused = [
    [{ permissions: ['close_schools'] }, 'permissions', 'close_schools'],
    [{ permissions: ['view_schools', 'manage_all_apps'] }, 'permissions', 'manage_all_apps'],
    [{ roles: ['headmaster'] }, 'roles', 'headmaster'],
    [{ roles: ['janitor'] }, 'roles', 'janitor'],
    [{ roles: ['constructor'] }, 'roles', 'constructor'],
    [{ permissions: ['no_such_thing'] }, 'permissions', 'no_such_thing'],
    [{ permissions: [7] }, 'permissions', '7'],
  ] as const;
  for (const [fields, field, name] of refused) {
    const expected = { message: `${field}: you cannot assign "${name}"` };
    for (const attempt of [
      dora.create({ ...MINE, ...fields } as never, once()),
      dora.update(own.client.id, fields as never),
    ]) {
      const error = await t.throwsAsync(attempt, expected);
      t.like(error, { code: 'ERR_CLIENT_INVALID', status: 422 });
    }
  }
  for (const value of ['view_schools', { 0: 'view_schools' }, true]) {
    await t.throwsAsync(dora.update(own.client.id, { permissions: value } as never), {
      message: 'permissions: give an array of strings',
    });
  }
  t.deepEqual(await auth.clients.find(own.client.id), own.client);
  t.is((await dora.list()).length, 1);
});

test('roles and permissions that the owner cannot assign stay when the owner saves', async (t) => {
  const { developer, registerFor } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora', {
    roles: ['headmaster', 'reader'],
    permissions: ['close_schools', 'edit_schools'],
  });
  const dora = await developer('dora');
  const changed = await dora.update(client.id, { roles: [], permissions: ['view_schools'] });
  t.deepEqual(changed.roles, ['headmaster']);
  t.deepEqual(changed.permissions, ['view_schools', 'close_schools']);
  const again = await dora.update(client.id, { roles: ['headmaster'], permissions: ['close_schools'] });
  t.deepEqual(again.roles, ['headmaster']);
  t.deepEqual(again.permissions, ['close_schools']);
  const renamed = await dora.update(client.id, { name: 'Renamed' });
  t.like(renamed, { roles: ['headmaster'], permissions: ['close_schools'] });

  const cleared = await (await developer('root')).update(client.id, { roles: [], permissions: [] });
  t.like(cleared, { roles: [], permissions: [] });
});

test('an assignment that an administrator changes while the owner saves is not undone', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const { auth, developer, registerFor } = await openDeveloperPlatform(t, { storage });
  const { client } = await registerFor('dora', { permissions: ['close_schools', 'view_schools'] });
  const [dora, root] = [await developer('dora'), await developer('root')];

  const saving = pause('clients.update');
  const saved = dora.update(client.id, { permissions: ['edit_schools'] });
  await saving.reached;
  await root.update(client.id, { roles: ['headmaster'], permissions: ['view_schools'] });
  saving.resume();
  const { roles, permissions } = await saved;
  t.deepEqual({ roles, permissions }, { roles: ['headmaster'], permissions: ['edit_schools'] });
  t.deepEqual(await auth.clients.find(client.id), await saved);
});

test('an owner cannot save an app that gets another owner during the request', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const { auth, developer, registerFor } = await openDeveloperPlatform(t, { storage });
  const { client } = await registerFor('dora');
  const dora = await developer('dora');
  const saving = pause('clients.update');
  const saved = dora.update(client.id, { name: 'Mine' });
  await saving.reached;
  await auth.clients.update(client.id, { ownerId: 'emil' });
  saving.resume();
  await t.throwsAsync(saved, { code: 'ERR_CLIENT_NOT_FOUND', message: `There is no client ${client.id}` });
  t.like(await auth.clients.find(client.id), { name: 'Nightly import', ownerId: 'emil' });
});

test('an update with ifUpdatedAt is refused when the app has been changed since', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const { auth, developer, registerFor } = await openDeveloperPlatform(t, { storage });
  const { client } = await registerFor('dora');
  const dora = await developer('dora');
  const saving = pause('clients.update');
  const saved = dora.update(client.id, { name: 'From the form' }, { ifUpdatedAt: client.updatedAt });
  await saving.reached;
  const { updatedAt } = await auth.clients.update(client.id, { permissions: ['view_schools'] });
  saving.resume();
  const error = await t.throwsAsync(saved, {
    message: 'The client was changed in the meantime. Read it again and repeat the change.',
  });
  t.like(error, { code: 'ERR_CLIENT_CHANGED', status: 409 });
  t.is((await auth.clients.find(client.id))?.name, 'Nightly import');

  const again = await dora.update(client.id, { name: 'From the form' }, { ifUpdatedAt: updatedAt });
  t.like(again, { name: 'From the form', permissions: ['view_schools'] });
});

test('an app with roles, permissions or scopes that are no longer defined can be updated', async (t) => {
  const storage = memoryStorage();
  const { developer, registerFor } = await openDeveloperPlatform(t, { storage });
  const service = await registerFor('dora', { permissions: ['view_schools'] });
  await storage.clients.update({
    ...service.client,
    roles: ['gone', 'reader'],
    permissions: ['gone_too', 'view_schools'],
  });
  const dora = await developer('dora');
  t.like(await dora.update(service.client.id, { name: 'Renamed' }), {
    name: 'Renamed',
    roles: ['reader'],
    permissions: ['view_schools'],
  });

  const reports = await registerFor('dora', REPORTS);
  await storage.clients.update({ ...reports.client, scopes: ['gone', 'schools:read'] });
  t.deepEqual((await dora.update(reports.client.id, { name: 'Renamed' })).scopes, ['schools:read']);
  t.is((await dora.update(reports.client.id, { scopes: undefined })).scopes, undefined);
});

test('only an administrator changes firstParty', async (t) => {
  const { developer, registerFor } = await openDeveloperPlatform(t);
  const dora = await developer('dora');
  const message = 'firstParty: only an administrator can set this';
  await t.throwsAsync(dora.create({ ...REPORTS, firstParty: true }, once()), { message });
  const own = await registerFor('dora', REPORTS);
  await t.throwsAsync(dora.update(own.client.id, { firstParty: true }), { message });
  await t.throwsAsync(dora.update(own.client.id, { firstParty: 'true' } as never), { message });

  const root = await developer('root');
  t.true((await root.update(own.client.id, { firstParty: true })).firstParty);
  await t.throwsAsync(dora.update(own.client.id, { firstParty: false }), { message });
});

test('fields that only the server sets are refused', async (t) => {
  const { auth, developer, registerFor } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const dora = await developer('dora');
  for (const [field, value] of Object.entries({ id: 'x', disabled: true, createdAt: 0, hash: 'x' })) {
    await t.throwsAsync(dora.create({ ...MINE, [field]: value }, once()), {
      message: `${field}: there is no such field`,
    });
    await t.throwsAsync(dora.update(client.id, { [field]: value }), {
      message: `${field}: there is no such field`,
    });
  }
  await t.throwsAsync(dora.update(client.id, { grantType: 'authorization_code' } as never), {
    message: 'grantType: cannot be changed; register another client',
  });
  t.deepEqual(await auth.clients.find(client.id), client);
});

test('an owner can enable an app that the owner has disabled, and no other', async (t) => {
  const { auth, developer, registerFor } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const [dora, root] = [await developer('dora'), await developer('root')];
  t.true(await dora.canEnable(client.id));
  t.true((await dora.disable(client.id)).disabled);
  t.true(await dora.canEnable(client.id));
  t.false((await dora.enable(client.id)).disabled);

  const disablings = [
    async () => root.disable(client.id),
    // By a program or on the command line.
    async () => auth.clients.disable(client.id),
  ];
  for (const disable of disablings) {
    await disable();
    t.false(await dora.canEnable(client.id));
    const error = await t.throwsAsync(dora.enable(client.id), {
      message: 'Missing permission to manage all apps.',
    });
    t.like(error, { code: 'ERR_PERMISSION_MISSING', permission: 'manage_all_apps' });
    await dora.disable(client.id);
    t.false(await dora.canEnable(client.id));
    t.true(await root.canEnable(client.id));
    await root.enable(client.id);
  }
});

test('an app that an administrator disables after its owner stays disabled', async (t) => {
  const { auth, developer, registerFor } = await openDeveloperPlatform(t);
  const [dora, root] = [await developer('dora'), await developer('root')];
  for (const other of [root, auth.clients]) {
    const { client } = await registerFor('dora');
    await dora.disable(client.id);
    await other.disable(client.id);
    t.false(await dora.canEnable(client.id));
    await t.throwsAsync(dora.enable(client.id), { code: 'ERR_PERMISSION_MISSING' });
    t.true((await auth.clients.find(client.id))?.disabled);
  }
});

test('disabledBy does not need the audit log', async (t) => {
  const { developer, registerFor } = await openDeveloperPlatform(t, { retention: { audit: 0 } });
  const { client } = await registerFor('dora');
  const [dora, root] = [await developer('dora'), await developer('root')];
  t.is((await dora.disable(client.id)).disabledBy, 'dora');
  t.true(await dora.canEnable(client.id));
  t.like(await dora.enable(client.id), { disabled: false, disabledBy: undefined });
  t.is((await root.disable(client.id)).disabledBy, 'root');
  t.false(await dora.canEnable(client.id));
});

test('a lost audit event does not let the owner enable the app', async (t) => {
  let isLost = false;
  const storage = around(memoryStorage(), async (name, call) =>
    isLost && name === 'audit.append' ? undefined : call(),
  );
  const { auth, developer, registerFor } = await openDeveloperPlatform(t, { storage });
  const { client } = await registerFor('dora');
  const [dora, root] = [await developer('dora'), await developer('root')];
  await dora.disable(client.id);
  await auth.audit.flush();
  isLost = true;
  await root.disable(client.id);
  t.false(await dora.canEnable(client.id));
  await t.throwsAsync(dora.enable(client.id), { code: 'ERR_PERMISSION_MISSING' });
  t.true((await auth.clients.find(client.id))?.disabled);
});

test('an app that is disabled while its owner enables it stays disabled', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  const { auth, developer, registerFor } = await openDeveloperPlatform(t, { storage });
  const [dora, root] = [await developer('dora'), await developer('root')];
  for (const other of [root, auth.clients]) {
    const { client } = await registerFor('dora');
    await dora.disable(client.id);
    const { reached, resume } = pause('clients.update');
    const enabling = dora.enable(client.id);
    await reached;
    await other.disable(client.id);
    resume();
    await t.throwsAsync(enabling, { code: 'ERR_PERMISSION_MISSING' });
    t.true((await auth.clients.find(client.id))?.disabled);
  }
});

test('after a change of owner only the user who disabled the app can enable it', async (t) => {
  const { auth, developer, registerFor } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const [dora, emil] = [await developer('dora'), await developer('emil')];
  await dora.disable(client.id);
  await auth.clients.update(client.id, { ownerId: 'emil' });
  await emil.disable(client.id);
  t.false(await emil.canEnable(client.id));
  await t.throwsAsync(dora.enable(client.id), { code: 'ERR_CLIENT_NOT_FOUND' });
  await auth.clients.update(client.id, { ownerId: 'dora' });
  t.false((await dora.enable(client.id)).disabled);
});

test('ten concurrent submissions of one form create one app', async (t) => {
  const { developer } = await openDeveloperPlatform(t);
  const dora = await developer('dora');
  const same = once();
  const made = await Promise.all(Array.from({ length: 10 }, async () => dora.create(MINE, same)));
  t.is(made.filter(Boolean).length, 1);
  t.is(await dora.create(MINE, same), undefined);
  t.is((await dora.list()).length, 1);
  // A form of another user may have the same string.
  t.truthy(await (await developer('emil')).create(MINE, same));
});

test('a form that was refused can be corrected and sent again', async (t) => {
  const { developer } = await openDeveloperPlatform(t);
  const dora = await developer('dora');
  const same = once();
  await t.throwsAsync(dora.create({ ...MINE, name: '' }, same), {
    message: 'name: give a name of 1 to 100 characters',
  });
  t.truthy(await dora.create(MINE, same));
});

test('ten concurrent submissions of one form add one secret', async (t) => {
  const { developer, registerFor } = await openDeveloperPlatform(t);
  const { client } = await registerFor('dora');
  const other = await registerFor('dora', { name: 'Other' });
  const dora = await developer('dora');
  const same = once();
  const secret = { label: 'production', expiresAt: undefined };
  const added = await Promise.all(
    Array.from({ length: 10 }, async () => dora.addSecret(client.id, secret, same)),
  );
  t.is(added.filter(Boolean).length, 1);
  t.is((await dora.secrets(client.id)).length, 2);
  t.truthy(await dora.addSecret(other.client.id, secret, same));
});

test('a user can have 100 apps, an administrator more', async (t) => {
  const { developer, registerFor } = await openDeveloperPlatform(t);
  for (let count = 0; count < 100; count += 1) await registerFor('dora');
  const dora = await developer('dora');
  const error = await t.throwsAsync(dora.create(MINE, once()), {
    message: 'apps: a user can have at most 100 apps; delete one first',
  });
  t.like(error, { code: 'ERR_CLIENT_INVALID', status: 422 });
  const [first] = await dora.list();
  t.true(await dora.delete(first!.id));
  t.truthy(await dora.create(MINE, once()));

  for (let count = 0; count < 100; count += 1) await registerFor('root');
  t.truthy(await (await developer('root')).create(MINE, once()));
});

test('the activity has the actors, and addresses only of requests of the app itself', async (t) => {
  const storage = memoryStorage();
  const { developer, registerFor, token } = await openDeveloperPlatform(t, { storage });
  const service = await registerFor('dora');
  const reports = await registerFor('dora', REPORTS);
  const [dora, root] = [await developer('dora'), await developer('root')];
  await token({ grant_type: 'client_credentials', ...asClient(service) });
  await root.update(service.client.id, { name: 'Renamed' });
  await storage.audit.append(
    [
      { id: '1', at: 1, type: 'login', userId: 'ann', clientId: reports.client.id, address: '192.0.2.9' },
      {
        id: '2',
        at: 2,
        type: 'consent_given',
        userId: 'ann',
        clientId: reports.client.id,
        scopes: [],
        address: '192.0.2.9',
      },
    ],
    Infinity,
  );

  const seen = await dora.activity(service.client.id);
  t.deepEqual(
    seen.map(({ actorId, address, type }) => [type, actorId, address]),
    [
      ['client_updated', 'root', undefined],
      ['token_issued', undefined, '127.0.0.1'],
      ['secret_added', undefined, undefined],
      ['client_created', undefined, undefined],
    ],
  );
  const [first] = seen;
  t.is((await root.activity(service.client.id))[0]?.address, '192.0.2.1');
  t.deepEqual(await dora.activity(service.client.id, { before: first! }), seen.slice(1));
  t.deepEqual(await dora.activity(service.client.id, { limit: 1 }), [first!]);

  const ofPeople = (await dora.activity(reports.client.id)).map(({ address, type }) => [type, address]);
  t.deepEqual(ofPeople, [
    ['secret_added', undefined],
    ['client_created', undefined],
    ['consent_given', undefined],
  ]);
  t.is((await root.activity(reports.client.id)).at(-1)?.address, '192.0.2.9');
});

test('audit events of the area have the user and the address', async (t) => {
  const { auth, flow } = await openDeveloperPlatform(t);
  const dora = await flow.developer(requestFrom('192.0.2.7'), userOf('dora'));
  const made = await dora.create(MINE, once());
  const { id } = made!.client;
  await dora.update(id, { name: 'Renamed' });
  const added = await dora.addSecret(id, { label: 'May', expiresAt: undefined }, once());
  await dora.deleteSecret(id, added!.id);
  await dora.disable(id);
  await dora.enable(id);
  await dora.delete(id);
  const records = await auth.audit.list({ clientId: id });
  t.deepEqual(records.map(({ type }) => type).toReversed(), [
    'client_created',
    'secret_added',
    'client_updated',
    'secret_added',
    'secret_deleted',
    'client_disabled',
    'client_enabled',
    'client_deleted',
  ]);
  for (const record of records) t.like(record, { actorId: 'dora', address: '192.0.2.7' });
  const everything = JSON.stringify(records);
  for (const value of [made!.secret!.value, added!.value]) t.false(everything.includes(value));
});
