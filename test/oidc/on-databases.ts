import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { BOTH_SCOPES, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';

/** Starts a platform on a database until the test ends. */
export async function platformOn(
  t: ExecutionContext,
  address: string,
  given: Parameters<typeof startPlatform>[0] = {},
): Promise<Platform> {
  const storage = knexStorage(address);
  const platform = await startPlatform({
    storage,
    scopes: BOTH_SCOPES,
    ...given,
  });
  t.teardown(async () => {
    await platform[Symbol.asyncDispose]();
    await storage.close();
  });
  return platform;
}
