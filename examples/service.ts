/**
 * The authorization server as a listener of `node:http`, without your own Koa app.
 *
 * In a checkout, and copied into your project:
 *
 *     npx node --conditions=gatehouse:source examples/service.ts
 *     node service.ts
 */
import { once } from 'node:events';
import { createServer } from 'node:http';

import { createAuthServer, defineGate } from 'koa-gatehouse';
import type { AuthServer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

const gate = defineGate({ permissions: { view_schools: 'View schools' } });

/** Creates the authorization server. `issuer` is its base URL. */
export async function createService(issuer: string): Promise<AuthServer<typeof gate>> {
  return createAuthServer({
    issuer,
    // No users: this server issues tokens for client credentials only.
    users: {
      verifyPassword: async () => undefined,
      find: async () => undefined,
      permissions: async () => [],
    },
    storage: memoryStorage(),
    interactions: pages(),
    gate,
  });
}

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env['PORT'] ?? 3000);
  const issuer = `http://localhost:${port}`;
  const auth = await createService(issuer);
  // In milliseconds; slower requests are closed. Node's defaults are 60,000 and 300,000.
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, auth.callback());
  await once(server.listen(port, '127.0.0.1'), 'listening');
  process.once('SIGTERM', () => {
    // Running requests end first; `/readyz` answers 503 meanwhile.
    server.close();
    void auth.close().then(() => process.exit());
  });

  const { client, secret } = await auth.clients.create({
    name: 'Robot',
    grantType: 'client_credentials',
    permissions: ['view_schools'],
  });
  console.log(`curl ${issuer}/oauth/token -d grant_type=client_credentials -u ${client.id}:${secret?.value}`);
}
