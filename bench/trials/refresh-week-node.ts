/**
 * A node of the week in a process of its own, with an API for agents, which register themselves. Its arguments are the database, the
 * issuer and the `refreshGrace` of the API in seconds. Prints where it listens, and ends with its input.
 */
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startPlatform } from '../../test/harness/platform.ts';

const [database = '', issuer = '', grace = ''] = process.argv.slice(2);

const scopes = { read: { description: 'See your schools', permissions: ['view_schools'] } } as const;
const platform = await startPlatform({
  storage: knexStorage(database),
  issuer,
  resources: { [`${issuer}/mcp`]: { scopes, refreshGrace: Number(grace) } },
  tokens: { lifetimes: { accessToken: '1 hour', refreshToken: '30 days' } },
  clients: { registration: { scopes: ['read'], perAddress: 1000 } },
  // A week passes in a minute.
  limits: { refreshes: 0 },
});
console.log(platform.origin);
process.stdin.resume().once('end', () => process.exit());
