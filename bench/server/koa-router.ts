// The guarded route in an app with koa-router, without a guard.
import Koa from 'koa';
import Router from 'koa-router';

import { GUARDED_ROUTE } from '../protocol.ts';
import { SCHOOLS } from './schools.ts';
import { serveContestant } from './serve-contestant.ts';
import { serveRoute } from './serve-route.ts';

await serveContestant((origin) => {
  const router = new Router().get(GUARDED_ROUTE, SCHOOLS);
  const app = new Koa();
  app.use(router.routes());
  return serveRoute(origin, app);
});
