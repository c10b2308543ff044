import type { IncomingMessage } from 'node:http';

import Koa from 'koa';
import {
  agents,
  createAdministration,
  createApiRouter,
  createAuthServer,
  defineAction,
  defineGate,
  developer,
  devices,
  openid,
  laravelPassport,
  laravelPassportSource,
  personalTokens,
  pushedRequests,
  trustedIssuers,
  requestIdOf,
} from 'koa-gatehouse';
import type { AuthServer, AuthServerOptions, Client, GuardContext, User, UserStore } from 'koa-gatehouse';
import { backupSqlite, knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { sqlStorage } from 'koa-gatehouse/adapters/sql';
import { createMcpEndpoint, createTokenVerifier } from 'koa-gatehouse/mcp';
import { createMetrics } from 'koa-gatehouse/metrics';
import { z } from 'zod';

interface Person extends User {
  readonly groups: readonly string[];
}
interface School {
  readonly registrarId: string;
}
declare const users: UserStore<Person>;
declare const school: School;

export const gate = defineGate({
  permissions: { view_schools: 'View schools', edit_school: 'Edit a school' },
  roles: { registrar: ['view_schools', 'edit_school'] },
  rules: { edit_school: ({ user }, { registrarId }: School) => user?.id === registrarId },
});
export const sources = gate.effectivePermissions({ roles: ['registrar'], permissions: [] });
export const { permissions, roles } = gate;

export const storages = [
  memoryStorage(),
  knexStorage('sqlite:data.db'),
  sqlStorage({ execute: undefined } as never),
];
export const backup = backupSqlite('sqlite:data.db', 'copy.db');
export const source = laravelPassportSource('mysql://localhost/laravel');
export const features = [
  agents(),
  developer(),
  devices(),
  openid(),
  personalTokens(),
  pushedRequests(),
  trustedIssuers(),
] as const;
export const moved = laravelPassport({ publicKey: '', source, until: '2027-06-30' });

export const auth = await createAuthServer({
  issuer: 'https://platform.example',
  users,
  gate,
  storage: memoryStorage(),
  resources: { 'https://platform.example/mcp': { name: 'Agents' } },
  features: [
    agents(),
    developer(),
    devices(),
    openid(),
    personalTokens(),
    pushedRequests(),
    trustedIssuers(),
  ],
});
export const { clients, assignments, events, audit, userGrants: grants, userData, signingKeys: keys } = auth;
export const { personalTokens: tokens, devices: deviceFlow, trustedIssuers: issuers } = auth;
export const least = await createAuthServer({
  issuer: 'https://platform.example',
  users,
  storage: memoryStorage(),
});

export const guard = auth.guard({ session: true });
export const requires = auth.requires;
export const required = auth.requires('view_schools');
export const requiredOf = auth.requires('edit_school', () => school);
export const serve = [auth.middleware(), auth.health()];
export const listener = auth.callback();
export const token = await auth.issueToken({ clientId: 'b0f8', userId: '1' });
export const issue = async (client: Client) => auth.issueToken({ clientId: client.id });
export const authenticated = await auth.authenticate({} as IncomingMessage, { session: true });
export const pruned = await auth.prune();
export const problems = await auth.doctor();
export const ready = await auth.ready();
export const observed = auth.observe({});
export const closed = auth.close();
export const provider = auth.provider;
export const used = auth.featureMembers(features[3]);

export const created = await clients.create({ name: 'Sync', grantType: 'client_credentials' });
export const createdSecret = created.secret;
export const found = await clients.find('b0f8');
export const listed = await clients.list();
export const updated = await clients.update('b0f8', { name: 'Sync 2' });
export const rename = (name: string) =>
  clients.update('b0f8', ({ confidential }) => ({ name, confidential }));
export const secrets = await clients.secrets('b0f8');
export const secret = await clients.addSecret('b0f8');
export const rotated = await clients.rotateSecret('b0f8');
export const clientKeys = updated.keys;
export const { grantType, lifetimes, scopes, source: clientSource } = updated;

export const assignment = await assignments.find('1');
export const records = await audit.list();
export const logins = records.filter((record) => record.type === 'login');
export const stop = events.on('login', (event) => event.userId);
export const granted = await grants.list('1');
export const { clients: apps, sessions } = granted;
export const app = apps[0];
export const connections = app?.grants;
export const connection = connections?.[0];
export const origin = connection?.origin;
export const appScopes = app?.scopes;
export const appResources = app?.resources;
export const tools = app?.tools;
export const session = sessions[0];
export const exported = await userData.export('1');
export const { assignment: exportedAssignment, audit: exportedAudit, consents, grants: rows } = exported;
export const erased = await userData.erase('1');
export const signingKeys = keys.list();
export const signingKey = await keys.rotate();

export const personalToken = await tokens.create({ userId: '1', name: 'Import', lifetime: '30 days' });
export const personal = await tokens.list('1');
export const requested = async (ctx: Koa.Context, user: User) => deviceFlow.find(ctx, user, 'ABCD-EFGH');
export const devicePage = async (ctx: Koa.Context) => deviceFlow.page(ctx);
export const developed = async (ctx: Koa.Context, user: User) => auth.developer(ctx, user);
export const developedApps = async (ctx: Koa.Context, user: User) => (await auth.developer(ctx, user)).list();
export const activity = async (ctx: Koa.Context, user: User) =>
  (await auth.developer(ctx, user)).activity('b0f8');
export const usage = async (ctx: Koa.Context, user: User) => (await auth.developer(ctx, user)).usage('b0f8');

export const administration = createAdministration({ storage: memoryStorage(), gate });
export const {
  clients: administered,
  signingKeys: administeredKeys,
  userData: administeredData,
  audit: administeredAudit,
} = administration;
export const imported = await administration.importClient({} as never);
export const storedKeys = await administration.signingKeys.list();
export const newKey = await administration.signingKeys.rotate();
export const encrypted = await administration.signingKeys.encrypt();
export const revokedKeys = await administration.signingKeys.revoke();
export const findings = await administration.doctor();
export const usedTokens = await administration.featureMembers(personalTokens());

export const action = defineAction({
  gate,
  type: 'school',
  name: 'rename-school-action',
  level: 'instance',
  title: 'Rename',
  permission: 'edit_school',
  input: z.object({ name: z.string() }),
  output: z.object({ name: z.string() }),
  object: () => school,
  run: ({ input, object, principal }) => ({ name: `${input.name} ${object.registrarId} ${principal.type}` }),
});
export const { inputSchema, input, level } = action;
export const api = createApiRouter({ auth, actions: [action] });
export const parse = api.parseBody();
export const routes = api.routes();
api.get('/schools', (ctx) => ctx.state.principal);
export const endpoint = await createMcpEndpoint({ auth, actions: [action] });
export const verifier = createTokenVerifier({ auth, resource: 'https://platform.example/mcp' });
export const metrics = createMetrics(auth);
export const register = metrics.register;

const app1 = new Koa();
app1.use((ctx) => {
  ctx.body = requestIdOf(ctx);
});
export const requestId = requestIdOf;
export function principalOf(ctx: GuardContext<typeof gate, Person>) {
  return ctx.state.principal;
}
export const permissionsOf = (ctx: GuardContext<typeof gate, Person>) => ctx.state.principal.sources;
export function start(options: Omit<AuthServerOptions, 'storage'>) {
  return createAuthServer({ ...options, storage: memoryStorage() });
}
export const serverOf = (server: AuthServer) => ({ server, registry: server.clients });
export class Apps {
  readonly registry = auth.clients;
  readonly grants = auth.userGrants;
  find = async (id: string) => this.registry.find(id);
  secrets = async (id: string) => this.registry.secrets(id);
}
