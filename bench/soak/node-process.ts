/** A node: the server, its API, and routes of the host that revoke tokens, rotate keys and prune. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

import Koa from 'koa';
import Router from 'koa-router';
import { createApiRouter, createAuthServer, StorageError } from 'koa-gatehouse';
import type { AuthServer, User } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { ISSUER, KEY_ENCRYPTION_KEY, PASSWORD, REFRESH_GRACE, REVOCATION_LAG } from './platform.ts';
import type { NodeMessage, NodeSettings } from './platform.ts';

const { address } = JSON.parse(process.argv[2]!) as NodeSettings;

// Ctrl-C reaches the whole process group; the driver ends the nodes.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());

const auth = await createAuthServer({
  issuer: ISSUER,
  users: {
    // Compared as it is: a password hash would take most of the time.
    verifyPassword: async (login: string, password: string) =>
      password === PASSWORD ? person(login) : undefined,
    find: async (id: string) => person(id),
    permissions: async () => [],
  },
  storage: knexStorage(address),
  secrets: { keyEncryptionKey: KEY_ENCRYPTION_KEY },
  // A family is refreshed all the time.
  limits: { refreshes: 0 },
  tokens: {
    revocationLag: REVOCATION_LAG,
    refreshGrace: REFRESH_GRACE,
    // Both at moments that the driver chooses.
    keyRotation: 0,
  },
  retention: { pruneInterval: 0 },
  logger: {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) => tell({ error: `${message} ${describe(fields)}` }),
  },
});

function person(id: string): User {
  return { id, name: id, email: `${id}@school.example` };
}

const host = new Router()
  .post('/soak/revoke', async (ctx) => {
    await auth.revoke((await json(ctx.req)) as Parameters<AuthServer['revoke']>[0]);
    ctx.body = {};
  })
  .post('/soak/rotate-keys', async (ctx) => {
    await auth.signingKeys.rotate({ after: '30 seconds' });
    ctx.body = {};
  })
  .post('/soak/prune', async (ctx) => {
    ctx.body = { removed: await auth.prune() };
  });

const app = new Koa();
app.silent = true;
app.use(async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    ctx.status = error instanceof StorageError ? 503 : 500;
    if (ctx.status === 500) tell({ error: describe({ err: error }) });
  }
});
app.use(auth.middleware()).use(createApiRouter({ auth }).routes()).use(host.routes());

const handle = app.callback();
const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
await once(server, 'listening');
tell({ port: (server.address() as AddressInfo).port });

function tell(message: NodeMessage): void {
  process.send?.(message);
}

function describe(fields: object): string {
  const error: unknown = 'err' in fields ? fields.err : undefined;
  return error instanceof Error ? String(error.stack) : JSON.stringify(fields);
}
