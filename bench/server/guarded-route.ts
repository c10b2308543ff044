import Koa from 'koa';
import type { Middleware } from 'koa';
import { koaBody } from 'koa-body';
import Router from 'koa-router';

import { SCHOOLS } from './schools.ts';
import { FIXED_CLIENTS } from './serve-contestant.ts';
import type { Served } from './serve-contestant.ts';
import { signedToken } from './signed-token.ts';

/** The route that measures a guard. */
export function guardedRoute(origin: string, guard: Middleware): Served {
  const router = new Router();
  router.get('/schools', guard, SCHOOLS);
  router.post('/oauth/token', koaBody(), (ctx) => {
    ctx.body = { access_token: signedToken(origin, FIXED_CLIENTS.service.id), token_type: 'Bearer' };
  });
  const app = new Koa();
  app.silent = true;
  const handle = app.use(router.routes()).callback();
  return { listener: (request, response) => void handle(request, response), registered: FIXED_CLIENTS };
}
