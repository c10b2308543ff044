/**
 * The authorization server in an existing Koa app, which keeps its own keys, login session, body parser, error handler, users
 * and routes below `/oauth`.
 *
 * In a checkout, and copied into your project:
 *
 *     npx node --conditions=gatehouse:source examples/embed.ts
 *     node embed.ts
 */
import { once } from 'node:events';

import bodyParser from '@koa/bodyparser';
import Koa from 'koa';
import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import type { AuthServer, User } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';
import Router from 'koa-router';
import session from 'koa-session';

const gate = defineGate({ permissions: { view_schools: 'View schools' } });

const ann: User = { id: '1', name: 'Ann', email: 'ann@host.example' };

/** Creates the host's app with the authorization server. `issuer` is the host's base URL. */
export async function createHost(issuer: string): Promise<{ app: Koa; auth: AuthServer<typeof gate> }> {
  const auth = await createAuthServer({
    issuer,
    users: {
      verifyPassword: async (login, password) =>
        login === ann.email && password === 'correct horse battery staple' ? ann : undefined,
      find: async (id) => (id === ann.id ? ann : undefined),
      permissions: async () => ['view_schools'],
    },
    login: {
      // Users who are logged in to the host see no second login page; others are sent to the host's login page.
      currentUser: (ctx) => (ctx['session'].userId === ann.id ? ann : undefined),
      url: '/login',
      logout: (ctx) => {
        ctx['session'] = null;
      },
    },
    storage: memoryStorage(),
    interactions: pages({ brand: { name: 'The host' } }),
    gate,
  });

  const app = new Koa();
  app.keys = ['a key with which the host signs its own cookies'];
  app.use(async function hostErrors(ctx, next) {
    await next().catch((error: { status?: number; expose?: boolean; message: string }) => {
      ctx.status = error.status ?? 500;
      ctx.body = `Error of the host: ${error.expose ? error.message : 'internal error'}`;
    });
  });
  app.use(session(app));
  app.use(bodyParser());
  app.use(auth.middleware());

  const api = createApiRouter({ auth });
  api.get('/schools', auth.requires('view_schools'), (ctx) => {
    ctx.body = { data: [{ id: 'harbour', name: 'Harbour School', city: 'Rotterdam', open: true }] };
  });
  app.use(api.routes());

  const router = new Router();
  router.get('/oauth/custom', (ctx) => {
    ctx.body = 'A route of the host, below /oauth.';
  });
  router.get('/login', (ctx) => {
    ctx.type = 'html';
    ctx.body = '<title>Log in</title><form method="post"><button>Log in as Ann</button></form>';
  });
  router.post('/login', (ctx) => {
    ctx['session'].userId = ann.id;
    // Redirect to this origin only, because anyone can choose the parameter.
    const target = URL.parse(new URLSearchParams(ctx.querystring).get('return_to') ?? '/', issuer);
    ctx.status = 303;
    ctx.redirect(target?.origin === issuer ? target.href : '/');
  });
  app.use(router.routes());

  return { app, auth };
}

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env['PORT'] ?? 3000);
  const issuer = `http://localhost:${port}`;
  const { app } = await createHost(issuer);
  await once(app.listen(port, '127.0.0.1'), 'listening');
  console.log(`The host listens at ${issuer}. Its own route below /oauth: ${issuer}/oauth/custom`);
}
