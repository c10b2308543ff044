/**
 * A node of the week in a process of its own, with an API for agents, which register themselves. Its arguments are the database, the
 * issuer and the `refreshGrace` of the API in seconds. Prints where it listens, and ends with its input.
 */
import Koa from 'koa';
import { agents, defineAction } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { createMcpEndpoint } from 'koa-gatehouse/mcp';
import { z } from 'zod';

import { gate, startPlatform } from '../../test/harness/platform.ts';
import { listenerOf, serve } from '../../test/harness/serve.ts';

const [database = '', issuer = '', grace = ''] = process.argv.slice(2);

const scopes = { read: { description: 'See your schools', permissions: ['view_schools'] } } as const;
const list = defineAction({
  gate,
  type: 'school',
  name: 'list-action',
  level: 'collection',
  title: 'List schools',
  permission: 'view_schools',
  mcp: true,
  readOnly: true,
  input: z.object({}),
  output: z.array(z.string()),
  run: () => ['Hill School'],
});
const platform = await startPlatform({
  storage: knexStorage(database),
  issuer,
  resources: { [`${issuer}/mcp`]: { scopes, refreshGrace: Number(grace) } },
  tokens: { lifetimes: { accessToken: '1 minute', refreshToken: '30 days' } },
  features: [agents({ registration: { scopes: ['read'], perAddress: 1000 }, documents: false })],
  // Days pass in minutes.
  limits: { refreshes: 0 },
});
const app = new Koa();
app.silent = true;
app.use(platform.auth.middleware());
app.use(await createMcpEndpoint({ auth: platform.auth, actions: [list] }));
const served = await serve(async () => listenerOf(app));
console.log(served.origin);
process.stdin.resume().once('end', () => process.exit());
