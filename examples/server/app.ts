import Koa from 'koa';
import type { Context, Middleware, Next } from 'koa';
import type { Knex } from 'knex';
import type { AuthServer } from 'koa-gatehouse';

import { createAgents } from './agents.ts';
import { createApi } from './api.ts';
import { agentsUrl } from './gate.ts';
import type { gate } from './gate.ts';
import { createDocuments } from './documents/index.ts';
import type { PdfAccess } from './documents/pdf-service.ts';
import type { Letters } from './letters/letters.ts';
import { serveMetrics } from './metrics.ts';
import { createPages } from './pages.ts';
import type { CredentialsFile } from './portal/credentials.ts';
import { createPortal } from './portal/index.ts';
import type { PortalState } from './portal/index.ts';
import { createStatistics } from './statistics.ts';
import { loadViews } from './views.ts';
import type { Render } from './views.ts';

export interface AppOptions {
  readonly auth: AuthServer<typeof gate>;
  readonly database: Knex;
  readonly baseUrl: string;
  readonly portalCredentials: CredentialsFile;
  /** Where the portal stores uploaded documents. */
  readonly documentsFolder: string;
  readonly pdf: PdfAccess;
  /** Whether `/metrics` is served. */
  readonly metrics: boolean;
  readonly letters: Letters;
}

/** The platform as a Koa app: the authorization server, the API, the platform's pages, and the portal. */
export async function createApp(options: AppOptions): Promise<Koa> {
  const { auth, database, baseUrl, portalCredentials, documentsFolder, metrics, pdf, letters } = options;
  const render = loadViews();
  const api = createApi({ auth, knex: database, letters });

  const app = new Koa();
  app.use(answerNotFound(render));
  app.use(auth.health());
  app.use(auth.middleware());
  app.use(api.routes());
  app.use(await createAgents(auth, { database, baseUrl }));
  app.use(createStatistics(auth, { database, baseUrl }).routes());
  if (metrics) app.use(serveMetrics(auth));
  app.use(createPages({ metrics, render, agentsUrl: agentsUrl(baseUrl) }).routes());
  const documents = createDocuments<PortalState>({ baseUrl, folder: documentsFolder, pdf, render });
  app.use(createPortal({ baseUrl, credentials: portalCredentials, render, documents }).routes());
  return app;
}

function answerNotFound(render: Render): Middleware {
  return async function notFound(ctx: Context, next: Next) {
    await next();
    if (ctx.status !== 404 || ctx.body) return;
    ctx.status = 404;
    if (!ctx.path.startsWith('/api/')) {
      render(ctx, 'not-found', { title: 'Page not found' });
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
