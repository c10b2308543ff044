import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import type {
  AuthServer,
  AuthServerOptions,
  Client,
  ClientPrincipal,
  NewSecret,
  UserPrincipal,
  UserStore,
} from 'koa-gatehouse';

import { same } from './same.ts';
import { pupil, school } from './school.ts';
import type { Person, School } from './school.ts';

const gate = defineGate({
  permissions: { view_schools: 'View schools', edit_school: 'Edit a school' },
  roles: { registrar: ['view_schools'] },
  rules: { edit_school: ({ user }, { registrarId }: School) => user?.id === registrarId },
});
declare const users: UserStore<Person>;
declare const others: Pick<AuthServerOptions, 'issuer' | 'storage' | 'interactions'>;

// A server has the types of its gate, users and rules.
const auth = await createAuthServer({ ...others, users, gate });
type Permission = 'view_schools' | 'edit_school';
same<typeof auth, AuthServer<typeof gate, Person>>();

// A server with these types is assignable to any server.
auth satisfies AuthServer;
auth satisfies AuthServer<typeof gate>;
await createAuthServer<Permission, 'registrar', Person>({ ...others, users, gate });

auth.requires('view_schools');
// A permission with a rule needs the object that the rule decides about.
auth.requires('edit_school', async ({ params, state }) => {
  params satisfies Readonly<Record<string, string>>;
  return state.principal.can('edit_school', school) ? school : undefined;
});
auth.requires('view_schools', 'edit_school', () => school);
// @ts-expect-error the permission has a rule
auth.requires('edit_school');
// @ts-expect-error the permission has a rule
auth.requires('view_schools', 'edit_school');
// @ts-expect-error a pupil is no school
auth.requires('edit_school', () => pupil);
// @ts-expect-error a pupil is no school
auth.requires('edit_school', async () => pupil);
// @ts-expect-error the permission has no rule
auth.requires('view_schools', () => school);
// @ts-expect-error there is no such permission
auth.requires('edit_schools', () => school);
// @ts-expect-error at least one permission
auth.requires(() => school);
// Where the rules are not known, objects of any type are accepted: `requires()` checks it.
(auth as AuthServer).requires('edit_school', () => pupil);
// @ts-expect-error there is no such permission
auth.requires('edit_schools');
// @ts-expect-error at least one permission
auth.requires();

await createAuthServer({
  ...others,
  users,
  gate,
  // @ts-expect-error there is no such permission
  scopes: { 'schools:read': { description: 'See your schools', permissions: ['view_school'] } },
});

// The APIs of a server have the names of its option `resources`.
const documents = 'https://documents.example/v1';
const several = await createAuthServer({ ...others, users, gate, resources: { [documents]: {} } });
several satisfies AuthServer;
several.guard();
several.guard({ resource: documents });
createApiRouter({ auth: several, resource: documents });
// @ts-expect-error there is no such API
several.guard({ resource: 'https://documents.example/v2' });
// @ts-expect-error there is no such API
createApiRouter({ auth: several, resource: 'https://documents.example/v2' });
await createAuthServer({
  ...others,
  users,
  gate,
  // @ts-expect-error there is no such permission
  resources: { [documents]: { scopes: { read: { description: 'Read', permissions: ['view_school'] } } } },
});
// URLs that are composed at run time are checked at run time only.
const composed = await createAuthServer({
  ...others,
  users,
  gate,
  resources: { [`${auth.issuer}/documents`]: {} },
});
composed.guard({ resource: `${composed.issuer}/documents` });

// Handlers get a typed principal.
const api = createApiRouter({ auth });
api.get('/schools/:id', auth.requires('view_schools'), ({ state }) => {
  const { principal } = state;
  principal.can('edit_school') satisfies boolean;
  principal.can('edit_school', school) satisfies boolean;
  // @ts-expect-error a pupil is no school
  principal.can('edit_school', pupil);
  // @ts-expect-error the permission has no rule
  principal.can('view_schools', school);
  // @ts-expect-error there is no such permission
  principal.can('edit_schools');
  gate.authorize(principal, 'edit_school', school);
  same<ReturnType<typeof principal.sources.keys>, MapIterator<Permission>>();

  if (principal.type === 'user') {
    same<typeof principal, UserPrincipal<Permission, Person, { edit_school: School }>>();
    principal.user.schoolIds satisfies readonly string[];
  } else {
    same<typeof principal, ClientPrincipal<Permission, { edit_school: School }>>();
    same<typeof principal.user, undefined>();
  }
  if (state.user) same<typeof state.client, undefined>();
  else same<typeof state.client, Client>();
  // @ts-expect-error there may be no user
  void state.user.name;
});

// A handler gets the object that was loaded.
api.get(
  '/schools/:id',
  auth.requires('edit_school', async () => school as School | undefined),
  ({ state }) => {
    same<typeof state.object, School>();
    state.principal.can('edit_school', state.object) satisfies boolean;
  },
);

// Roles and permissions of users and clients are checked.
await auth.assignments.set('1', { roles: ['registrar'], permissions: ['edit_school'] });
// @ts-expect-error there is no such role
await auth.assignments.set('1', { roles: ['registrars'] });
// @ts-expect-error there is no such field
await auth.assignments.set('1', { role: 'registrar' });
await auth.clients.create({ name: 'Sync', grantType: 'client_credentials', permissions: ['edit_school'] });
// @ts-expect-error there is no such permission
await auth.clients.create({ name: 'Sync', grantType: 'client_credentials', permissions: ['edit_schools'] });

// A client may have its own lifetimes; they are stored in seconds.
const { client } = await auth.clients.create({
  name: 'Sync',
  grantType: 'client_credentials',
  lifetimes: { accessToken: '15 minutes' },
});
client.lifetimes.accessToken satisfies number | undefined;
await auth.clients.update(client.id, { lifetimes: { ...client.lifetimes, refreshToken: '1 day' } });
// @ts-expect-error no such lifetime
await auth.clients.update(client.id, { lifetimes: { session: '1 day' } });

// issueToken() needs a client, and takes a user.
same<ReturnType<typeof auth.issueToken>, Promise<string>>();
await auth.issueToken({ clientId: 'b0f8', userId: '1', scopes: ['schools:read'], lifetime: '1 hour' });
// @ts-expect-error the client is missing
await auth.issueToken({ userId: '1' });
const made = await auth.clients.create({ name: 'Sync', grantType: 'client_credentials' });
same<typeof made.secret, NewSecret | undefined>();
(await auth.clients.addSecret('b0f8')).value satisfies string;
same<ReturnType<typeof auth.clients.rotateSecret>, Promise<NewSecret>>();
await auth.clients.rotateSecret('b0f8', { overlap: '1 hour' });

// A user store may omit permissions() and roles(), and leave them to the storage.
const noUser = async (): Promise<undefined> => undefined;
({ verifyPassword: noUser, find: noUser }) satisfies UserStore<Person>;
