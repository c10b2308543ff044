// A guard with jose alone, which verifies the token of each request and checks nothing else.
import { createLocalJWKSet, exportJWK, jwtVerify } from 'jose';
import Koa from 'koa';
import type { Middleware } from 'koa';
import Router from 'koa-router';

import { GUARDED_ROUTE } from '../protocol.ts';
import { SCHOOLS } from './schools.ts';
import { serveContestant } from './serve-contestant.ts';
import { serveRoute } from './serve-route.ts';
import { publicKey } from './signed-token.ts';

await serveContestant(async (origin) => {
  const jwk = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'ES256', use: 'sig' };
  const keys = createLocalJWKSet({ keys: [jwk] });
  const guard: Middleware = async (ctx, next) => {
    try {
      const { payload } = await jwtVerify(ctx.get('authorization').slice('Bearer '.length), keys, {
        issuer: origin,
        audience: origin,
        typ: 'at+jwt',
      });
      ctx.state['claims'] = payload;
    } catch {
      ctx.throw(401);
    }
    await next();
  };
  const router = new Router().get(GUARDED_ROUTE, guard, SCHOOLS);
  const app = new Koa();
  app.use(router.routes());
  return serveRoute(origin, app);
});
