import type { Context } from 'koa';
import { defineGate } from 'koa-gatehouse';
import {
  actingAsClient,
  actingAsUser,
  connectionContract,
  fakeClock,
  issueToken,
  testServer,
} from 'koa-gatehouse/testing';

const gate = defineGate({
  permissions: { view_schools: 'View schools' },
  roles: { registrar: ['view_schools'] },
});
const user = { id: '1', name: 'Ada' };

export const server = await testServer({ gate, users: [{ ...user, roles: ['registrar'] }] });
export const { app, auth, origin } = server;
export const stranger = await testServer();
export const registered = await auth.clients.create({ name: 'App', grantType: 'authorization_code' });
export const authorization = await server.authorize(registered, user);
export const tokens = await authorization.exchange();
export const denied = await server.deny(registered, user);
export const token = await issueToken(auth, { user });
export const clock = fakeClock();
export const acting = await actingAsUser(server, user);
export const actingClient = await actingAsClient(server, registered.client);
export const principal = (ctx: Context) => actingAsUser(ctx, user, { gate, permissions: ['view_schools'] });
export const client = (ctx: Context) => actingAsClient(ctx, {}, { gate, permissions: ['view_schools'] });
export const contract = connectionContract;
