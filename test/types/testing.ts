import Koa from 'koa';
import { createApiRouter, defineGate } from 'koa-gatehouse';
import type { AuthServer, ClientPrincipal, UserPrincipal } from 'koa-gatehouse';
import { actingAsClient, actingAsUser, issueToken, testServer } from 'koa-gatehouse/testing';
import type { Acting, TestServer } from 'koa-gatehouse/testing';

import { same } from './same.ts';
import { pupil, school } from './school.ts';
import type { Person, School } from './school.ts';

type Permission = 'view_schools' | 'edit_school';
type Resources = { edit_school: School };

const gate = defineGate({
  permissions: { view_schools: 'View schools', edit_school: 'Edit a school' },
  roles: { registrar: ['view_schools'] },
  rules: { edit_school: ({ user }, { registrarId }: School) => user?.id === registrarId },
});
// As the README makes it: its type says what the router adds.
declare const platform: AuthServer<typeof gate, Person>;
const app = new Koa().use(platform.middleware()).use(createApiRouter({ auth: platform }).routes());
declare const person: Person;

const ctx = { state: {} };
const principal = actingAsUser(ctx, person, { gate, permissions: ['edit_school'], roles: ['registrar'] });
same<typeof principal, UserPrincipal<Permission, Person, Resources>>();
principal.can('edit_school', school) satisfies boolean;
// @ts-expect-error a pupil is no school
principal.can('edit_school', pupil);
same<typeof job, ClientPrincipal<Permission, Resources>>();
const job = actingAsClient(ctx, {}, { gate });
// @ts-expect-error there is no such permission
await actingAsUser(ctx, person, { gate, permissions: ['edit_schools'] });
// @ts-expect-error there is no such role
await actingAsClient(ctx, {}, { gate, roles: ['teacher'] });
// @ts-expect-error a context needs the gate
await actingAsUser(ctx, person, { permissions: ['edit_school'] });

// A test server has the types of its gate and its users.
const server = await testServer({
  gate,
  users: [{ ...person, roles: ['registrar'], permissions: ['edit_school'] }],
});
// @ts-expect-error there is no such role
await testServer({ gate, users: [{ id: '1', roles: ['teacher'] }] });
await testServer({ gate, issuer: (origin) => `${origin}/auth` });
await testServer({
  gate,
  users: [person],
  app(auth) {
    auth satisfies AuthServer<typeof gate>;
    return app;
  },
});
server satisfies TestServer;

// A user acts in an app together with the server whose tokens it accepts.
same<ReturnType<typeof actInApp>, Promise<Acting>>();
const actInApp = () => actingAsUser(server, person, { scopes: ['schools:read'] });
await actingAsUser({ app, auth: server.auth }, person);
// @ts-expect-error the tokens of which server?
await actingAsUser(app, person);
// @ts-expect-error the permissions are those of the user store
await actingAsUser(server, person, { permissions: ['view_schools'] });
// @ts-expect-error the user is missing
await actingAsUser(server);
const { client } = await server.auth.clients.create({ name: 'Sync', grantType: 'client_credentials' });
(await actingAsClient(server, client, { scopes: [] })).stop();
// @ts-expect-error a client that is not registered has no token
await actingAsClient(server, { name: 'Nightly report' });

// A token needs a user or a client.
(await issueToken(server.auth, {
  user: person,
  scopes: ['schools:read'],
  lifetime: '1 hour',
})) satisfies string;
// @ts-expect-error the user or client is missing
await issueToken(server.auth, { scopes: [] });
