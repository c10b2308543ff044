/**
 * Your own login and consent pages: one function that receives the server's `InteractionFlow`, and returns a middleware and
 * a function that shows errors.
 *
 * In a checkout, and copied into your project:
 *
 *     npx node --conditions=gatehouse:source examples/own-pages.ts
 *     node own-pages.ts
 */
import { once } from 'node:events';

import bodyParser from '@koa/bodyparser';
import Koa from 'koa';
import type { Context, Middleware } from 'koa';
import { createAuthServer, defineGate } from 'koa-gatehouse';
import type { AuthServer, Interactions, PageTypes, User } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import Router from 'koa-router';

const ann: User = { id: '1', name: 'Ann', email: 'ann@school.example' };

/** The pages, made with template strings; any template engine works too. */
const ownPages: Interactions = (flow) => {
  const router = new Router({ prefix: '/oauth/interaction/:uid' });

  // Refuse forms of other sites (CSRF): they could sign a user in or authorize an app.
  router.use(async (ctx, next) => {
    if (ctx.method === 'POST' && ctx.get('origin') !== flow.origin)
      return show(ctx, 403, 'This form was sent from another site.');
    return next();
  });
  router.use(bodyParser({ enableTypes: ['form'] }));

  router.get('/', async (ctx) => {
    const interaction = await flow.find(ctx, ctx.params['uid']!);
    show(ctx, 200, interaction.prompt === 'login' ? loginForm(interaction) : consentForm(interaction));
  });
  router.post('/login', async (ctx) => {
    const interaction = await flow.find(ctx, ctx.params['uid']!);
    const { login, password } = ctx.request.body as Record<string, unknown>;
    const user = await flow.authenticate(ctx, String(login), String(password));
    if (user) seeOther(ctx, await flow.login(ctx, interaction, user));
    else show(ctx, 422, loginForm(interaction, 'Email or password is incorrect.'));
  });
  router.post('/consent', async (ctx) => {
    const { scope = [] } = ctx.request.body as Record<string, unknown>;
    const interaction = await flow.find(ctx, ctx.params['uid']!);
    seeOther(ctx, await flow.consent(ctx, interaction, [scope].flat().map(String)));
  });
  router.post('/deny', async (ctx) => {
    seeOther(ctx, await flow.deny(ctx, await flow.find(ctx, ctx.params['uid']!)));
  });

  return {
    // Requests without a route here go on to the server.
    middleware: router.routes() as Middleware,
    error: async (ctx, { description, reference, status }) =>
      show(
        ctx,
        status,
        `<h1>That did not work</h1><p>${escape(description)}</p><p>Reference: ${reference}</p>`,
      ),
  };
};

function loginForm({ action, client }: PageTypes.Interaction, mistake = ''): string {
  return `<h1>Sign in</h1><p>to continue to ${escape(client.name)}</p><p role="alert">${mistake}</p>
<form method="post" action="${action}/login">
  <label>Email <input name="login" type="email" autocomplete="username" required></label>
  <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
  <button>Sign in</button>
</form>`;
}

function consentForm({ action, client, limited, scopes, user }: PageTypes.Interaction): string {
  const items = scopes.map(({ description, name, optional }) => {
    // Checked at first; what the user unchecks is not granted.
    const box = optional ? `<input type="checkbox" name="scope" value="${escape(name)}" checked> ` : '';
    return `<li><label>${box}${escape(description)}</label></li>`;
  });
  return `<h1>${escape(client.name)} asks for access</h1><p>You are ${escape(user?.name ?? '')}.</p>
<form method="post">
  <ul>${items.join('') || `<li>${limited ? 'See who you are' : 'Use all of your permissions'}</li>`}</ul>
  <button formaction="${action}/consent">Allow</button>
  <button formaction="${action}/deny">Cancel</button>
</form>`;
}

function show(ctx: Context, status: number, content: string): void {
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.set('Content-Security-Policy', "default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
  ctx.type = 'html';
  ctx.body = `<!doctype html><html lang="en"><title>School login</title><main>${content}</main></html>`;
}

function seeOther(ctx: Context, url: string): void {
  ctx.status = 303;
  ctx.redirect(url);
}

/** Client names are untrusted input. */
function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Creates the app. `issuer` is its base URL. */
export async function createSchool(
  issuer: string,
): Promise<{ app: Koa; auth: AuthServer<'view_schools', never> }> {
  const auth = await createAuthServer({
    issuer,
    users: {
      authenticate: async (login, password) =>
        login === ann.email && password === 'correct horse' ? ann : undefined,
      find: async (id) => (id === ann.id ? ann : undefined),
      permissions: async () => ['view_schools'],
    },
    storage: memoryStorage(),
    interactions: ownPages,
    gate: defineGate({ permissions: { view_schools: 'View schools' } }),
    scopes: {
      'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
      profile: { description: 'See your name', permissions: [], optional: true },
    },
  });
  return { app: new Koa().use(auth.middleware()), auth };
}

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env['PORT'] ?? 3000);
  const issuer = `http://localhost:${port}`;
  const { app, auth } = await createSchool(issuer);
  app.use((ctx) => {
    ctx.body = `The client received: ${ctx.querystring}`;
  });
  await once(app.listen(port, '127.0.0.1'), 'listening');
  const { client } = await auth.clients.create({
    name: 'Reports',
    grantType: 'authorization_code',
    redirectUris: [`${issuer}/callback`],
  });
  console.log(
    `Open ${issuer}/oauth/authorize?response_type=code&client_id=${client.id}&redirect_uri=${client.redirectUris[0]}&scope=schools:read, and sign in as ${ann.email}, password: correct horse`,
  );
}
