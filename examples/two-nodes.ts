/**
 * Two nodes on one PostgreSQL database: any request may go to either node, also during a login. Keys, sessions, codes, tokens and
 * revocations are in the database; besides, both nodes need the same issuer and the same key-encryption key.
 *
 * In a checkout, and copied into your project:
 *
 *     DATABASE_URL=postgres://… npx node --conditions=gatehouse:source examples/two-nodes.ts
 *     DATABASE_URL=postgres://… node two-nodes.ts
 */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import Koa from 'koa';
import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import type { AuthServer, User } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { pages } from 'koa-gatehouse/interactions';

const gate = defineGate({ permissions: { view_schools: 'View schools' } });

const ann: User = { id: '1', name: 'Ann', email: 'ann@school.example' };

/** The settings of each node. */
export interface NodeSettings {
  /** The URL of the load balancer. */
  readonly issuer: string;
  /** Such as `postgres://user:password@host/database`. */
  readonly database: string;
  /** Must not be stored in the database. */
  readonly keyEncryptionKey: string;
}

/** Creates a node. */
export async function createNode({
  database,
  issuer,
  keyEncryptionKey,
}: NodeSettings): Promise<{ app: Koa; auth: AuthServer<typeof gate> }> {
  const storage = knexStorage(database);
  // If several nodes start at the same time, one migrates and the others wait.
  await storage.migrate();
  const auth = await createAuthServer({
    issuer,
    users: {
      verifyPassword: async (login, password) =>
        login === ann.email && password === 'correct horse' ? ann : undefined,
      find: async (id) => (id === ann.id ? ann : undefined),
      permissions: async () => ['view_schools'],
    },
    storage,
    interactions: pages({ brand: { name: 'School' } }),
    gate,
    secrets: { keyEncryptionKey },
    // A revocation on one node takes effect on the other within a second.
    tokens: { revocationLag: '1 second' },
  });
  // The load balancer writes the client address into X-Forwarded-For.
  const app = new Koa({ proxy: true });
  app.use(auth.middleware());
  const api = createApiRouter({ auth });
  api.get('/schools', auth.requires('view_schools'), (ctx) => {
    ctx.body = { data: [{ id: 1, name: 'Hill School' }] };
  });
  app.use(api.routes());
  return { app, auth };
}

/** A small load balancer without sticky sessions: each request goes to the next node. */
export function createBalancer(ports: readonly number[]): Server {
  let count = 0;
  return createServer((incoming, outgoing) => {
    const port = ports[count++ % ports.length]!;
    const headers = { ...incoming.headers, 'x-forwarded-for': incoming.socket.remoteAddress };
    const { method, url: path } = incoming;
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    });
    incoming.pipe(forwarded);
  });
}

if (process.argv[1] === import.meta.filename) {
  const {
    DATABASE_URL: database,
    KEY_ENCRYPTION_KEY: keyEncryptionKey = 'for this example only: 32 characters',
  } = process.env;
  if (!database) {
    console.error('Set DATABASE_URL to an empty PostgreSQL database, such as postgres://localhost/gatehouse');
    process.exit(2);
  }
  const port = Number(process.env['PORT'] ?? 3000);
  const issuer = `http://localhost:${port}`;
  const settings = { issuer, database, keyEncryptionKey };
  // Both nodes run in one process here, so that one command starts them. In production each is a separate process.
  const nodes = await Promise.all([createNode(settings), createNode(settings)]);
  const ports: number[] = [];
  for (const { app } of nodes) {
    const listening = app.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    ports.push((listening.address() as AddressInfo).port);
  }
  await once(createBalancer(ports).listen(port, '127.0.0.1'), 'listening');

  const { client, secret } = await nodes[0].auth.clients.create({
    name: 'Nightly report',
    grantType: 'client_credentials',
    permissions: ['view_schools'],
  });
  console.log(`curl ${issuer}/oauth/token -d grant_type=client_credentials -u ${client.id}:${secret?.value}`);
}
