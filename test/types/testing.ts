import type Koa from 'koa';
import { defineGate } from 'koa-gatehouse';
import type { AuthServer, ClientPrincipal, User, UserPrincipal } from 'koa-gatehouse';
import { actingAsClient, actingAsUser, fakeClock, issueToken, testServer } from 'koa-gatehouse/testing';
import type { Acting, TestServer } from 'koa-gatehouse/testing';

import { same } from './same.ts';
import { pupil, school } from './school.ts';
import type { Person, School } from './school.ts';

type Permission = 'view_schools' | 'edit_school';
type Subjects = { edit_school: School };

const gate = defineGate({
  permissions: { view_schools: 'View schools', edit_school: 'Edit a school' },
  roles: { registrar: ['view_schools'] },
  rules: { edit_school: ({ user }, { registrarId }: School) => user?.id === registrarId },
});
declare const app: Koa;
declare const person: Person;

// In an app, acting is something to stop; in a context, it gives who acts.
same<ReturnType<typeof actInApp>, Acting>();
const actInApp = () => actingAsUser(app, person, { permissions: ['view_schools'], scopes: ['schools:read'] });
actingAsClient(app);
actingAsClient(app, { name: 'Nightly report' }, { roles: ['registrar'] }).stop();

const ctx = { state: {} };
const principal = actingAsUser(ctx, person, { gate, permissions: ['edit_school'], roles: ['registrar'] });
same<typeof principal, UserPrincipal<Permission, Person, Subjects>>();
principal.can('edit_school', school) satisfies boolean;
// @ts-expect-error a pupil is no school
principal.can('edit_school', pupil);
same<typeof job, ClientPrincipal<Permission, Subjects>>();
const job = actingAsClient(ctx, {}, { gate });
// @ts-expect-error there is no such permission
actingAsUser(ctx, person, { gate, permissions: ['edit_schools'] });
// @ts-expect-error there is no such role
actingAsClient(ctx, {}, { gate, roles: ['teacher'] });
// @ts-expect-error a context needs the gate
actingAsUser(ctx, person, { permissions: ['edit_school'] });
// @ts-expect-error somebody has to act
actingAsUser(app);

// A test server knows what its gate and its people are.
const server = await testServer({
  gate,
  users: [{ ...person, roles: ['registrar'], permissions: ['edit_school'] }],
});
server.auth.requires('view_schools');
// @ts-expect-error there is no such permission
server.auth.requires('edit_schools');
// @ts-expect-error there is no such role
await testServer({ gate, users: [{ id: '1', roles: ['teacher'] }] });
// @ts-expect-error a server has one address, and the test does not choose it
await testServer({ gate, issuer: 'https://platform.example' });
await testServer({
  gate,
  users: [person],
  app(auth) {
    auth satisfies AuthServer<Permission, 'registrar', User, Subjects>;
    return app;
  },
});
server satisfies TestServer;

// A token speaks for somebody.
(await issueToken(server.auth, {
  user: person,
  scopes: ['schools:read'],
  lifetime: '1 hour',
})) satisfies string;
// @ts-expect-error for whom?
await issueToken(server.auth, { scopes: [] });
// @ts-expect-error there is no such unit
fakeClock().advance('1 fortnight');
