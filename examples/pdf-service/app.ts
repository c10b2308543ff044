import Koa from 'koa';
import Router from 'koa-router';

import { requireKey } from './api-key.ts';
import type { JobPool } from './job-pool.ts';
import { withPdf } from './pdf-of-request.ts';
import { pictureOf } from './picture.ts';
import { answerErrors } from './service-error.ts';
import type { Settings } from './settings.ts';

/** The three routes of the service, as a Koa app. */
export function createApp(settings: Settings, jobs: JobPool): Koa {
  const router = new Router();

  router.get('/health', (ctx) => {
    ctx.body = { status: 'ok', ...jobs.load };
  });

  router.post('/extract', async (ctx) => {
    ctx.body = await withPdf(ctx, settings, (pdf) => jobs.run({ task: 'extract', ...pdf }, ctx.res));
    ctx.type = 'json';
  });

  router.post('/render', async (ctx) => {
    // Checked before the PDF is received, so that an invalid query is refused at once.
    const picture = pictureOf(ctx.query);
    ctx.body = await withPdf(ctx, settings, (pdf) => jobs.run({ task: 'render', ...pdf, picture }, ctx.res));
    ctx.type = picture.format === 'png' ? 'image/png' : 'image/jpeg';
  });

  const app = new Koa();
  app.use(answerErrors);
  app.use(requireKey(settings.apiKey));
  app.use(router.routes());
  return app;
}
