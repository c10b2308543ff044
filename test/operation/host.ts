import type { RequestListener } from 'node:http';

import Koa from 'koa';

import { listenerOf } from '../harness/serve.ts';
import type { AppParts } from '../harness/platform.ts';

/** An app with health checks before the server, and its own routes after it. */
export function host({ auth, api }: AppParts): RequestListener {
  const app = new Koa();
  app.use(auth.health());
  app.use(auth.middleware());
  app.use(api.routes());
  app.use((ctx) => {
    ctx.body = 'the host’s';
  });
  return listenerOf(app);
}
