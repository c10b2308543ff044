// The minimum cost of the same responses: Koa, a body, one signature. Nothing is checked or stored.
import { randomUUID } from 'node:crypto';

import Koa from 'koa';
import { koaBody } from 'koa-body';
import Router from 'koa-router';

import { REDIRECT_URI } from '../protocol.ts';
import { FIXED_CLIENTS, serveContestant } from './serve-contestant.ts';
import { signedToken } from './signed-token.ts';

await serveContestant((origin) => {
  const router = new Router();
  router.get('/oauth/authorize', (ctx) => {
    ctx.redirect(`${REDIRECT_URI}?code=${randomUUID()}&state=${String(ctx.query['state'])}`);
  });
  router.post('/oauth/token', (ctx) => {
    const { client_id: clientId, grant_type: grantType } = ctx.request.body as Record<string, string>;
    ctx.body = {
      access_token: signedToken(origin, clientId!),
      token_type: 'Bearer',
      expires_in: 31_536_000,
      scope: 'schools:read',
      ...(grantType === 'client_credentials' ? {} : { refresh_token: randomUUID() }),
    };
  });
  router.post('/api/v1/actions/school/:action/bulk', (ctx) => {
    const { items } = ctx.request.body as { items: { id: string; input: { name: string } }[] };
    const results = items.map(({ id, input }, index) => ({ index, id, output: { id, name: input.name } }));
    ctx.body = { data: { succeeded: results.length, failed: 0, results } };
  });

  const app = new Koa();
  app.silent = true;
  app.use(koaBody()).use(router.routes());
  const handle = app.callback();
  return { listener: (request, response) => void handle(request, response), registered: FIXED_CLIENTS };
});
