import Koa from 'koa';

import { FIXED_CLIENTS } from './serve-contestant.ts';
import type { Served } from './serve-contestant.ts';
import { signedToken } from './signed-token.ts';

/** Serves an app with the route that measures a guard, and tokens beside it, so that they cost the app nothing. */
export function serveRoute(origin: string, app: Koa): Served {
  const tokens = new Koa().use((ctx) => {
    ctx.body = { access_token: signedToken(origin, FIXED_CLIENTS.service.id), token_type: 'Bearer' };
  });
  app.silent = true;
  const [answer, issue] = [app.callback(), tokens.callback()];
  return {
    registered: FIXED_CLIENTS,
    listener(request, response) {
      void (request.url === '/oauth/token' ? issue : answer)(request, response);
    },
  };
}
