import type { ExecutionContext } from 'ava';
import type { AuthServerOptions } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';

/** A platform on a database, until the test ends. */
export async function platformOn(
  t: ExecutionContext,
  address: string,
  given: Partial<AuthServerOptions<'view_schools' | 'edit_schools', 'registrar', never>> = {},
): Promise<Platform> {
  const storage = knexStorage(address);
  const platform = await startPlatform({
    storage,
    scopes: {
      'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
      'schools:write': { description: 'Change your schools', permissions: ['edit_schools'] },
    },
    ...given,
  } as Parameters<typeof startPlatform>[0]);
  t.teardown(async () => {
    await platform[Symbol.asyncDispose]();
    await storage.close();
  });
  return platform;
}
