import Koa from 'koa';
import type { Context, Middleware, Next } from 'koa';
import type { Knex } from 'knex';
import { createApiRouter } from 'koa-gatehouse';
import type { AuthServer } from 'koa-gatehouse';

import type { Permission, Role } from './gate.ts';
import { createPages } from './pages.ts';
import type { CredentialsFile } from './portal/credentials.ts';
import { createPortal } from './portal/index.ts';
import { listSchools } from './schools.ts';
import { loadViews } from './views.ts';
import type { Render } from './views.ts';

export interface AppOptions {
  readonly auth: AuthServer<Permission, Role>;
  readonly database: Knex;
  readonly baseUrl: string;
  readonly portalCredentials: CredentialsFile;
}

/** The platform as a Koa app: the authorization server, the API, the platform's pages, and the portal beside them. */
export function createApp({ auth, database, baseUrl, portalCredentials }: AppOptions): Koa {
  const render = loadViews();
  const api = createApiRouter({ auth });
  api.get('/schools', auth.requires('view_schools'), async (ctx) => {
    ctx.body = { data: await listSchools(database) };
  });

  const app = new Koa();
  app.use(answerNotFound(render));
  app.use(auth.middleware());
  app.use(api.routes());
  app.use(createPages({ auth, render }).routes());
  app.use(createPortal({ baseUrl, credentials: portalCredentials, render }).routes());
  return app;
}

function answerNotFound(render: Render): Middleware {
  return async function notFound(ctx: Context, next: Next) {
    await next();
    if (ctx.status !== 404 || ctx.body) return;
    ctx.status = 404;
    if (!ctx.path.startsWith('/api/')) {
      render(ctx, 'not-found', { title: 'There is no such page' });
      return;
    }
    const detail = 'There is no such resource.';
    ctx.body = {
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      detail,
      code: 'not_found',
      message: detail,
    };
    ctx.type = 'application/problem+json';
  };
}
