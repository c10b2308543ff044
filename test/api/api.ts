import type { ExecutionContext } from 'ava';
import Koa from 'koa';

import type { ApiAuth } from '../../lib/api/auth.ts';
import { createApiRouter } from '../../lib/api/router.ts';
import type { ApiRouter } from '../../lib/api/router.ts';
import { createPlatform } from '../access/platform.ts';
import type { Permission, Person, Platform } from '../access/platform.ts';
import { serve } from '../access/serve.ts';

export interface Api {
  readonly platform: Platform;
  readonly api: ApiRouter<Permission, Person>;
  readonly origin: string;
}

/** What the API sees of the authorization server of a platform. */
export function authOf(platform: Platform, mountPath = ''): ApiAuth<Permission, Person> {
  const guard = platform.guard();
  return { mountPath, logger: platform.logger, guard: () => guard };
}

/** Serves an API; `extend` adds routes, as a host would. */
export async function serveApi(
  t: ExecutionContext,
  extend: (api: ApiRouter<Permission, Person>, platform: Platform) => void = () => {},
): Promise<Api> {
  const platform = createPlatform();
  const api = createApiRouter({ auth: authOf(platform) });
  extend(api, platform);
  const app = new Koa();
  app.use(api.routes());
  return { platform, api, origin: await serve(t, app) };
}
