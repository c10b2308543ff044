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

import Koa from 'koa';
import type { Context } from 'koa';
import { createAuthServer, defineGate } from 'koa-gatehouse';
import type { AuthServer, ConsentForm, Interactions, LoginForm, PageError, User } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

const ann: User = { id: '1', name: 'Ann', email: 'ann@school.example' };

/** The pages, made with template strings; any template engine works too. */
const ownPages: Interactions = (flow) => ({
  async middleware(ctx, next) {
    const page = (await flow.login(ctx)) ?? (await flow.consent(ctx));
    // Other requests go on to the server.
    if (!page) return next();
    if (page.kind === 'redirect') return ctx.redirect(page.url);
    if (page.kind === 'error') return showError(ctx, page);
    return show(ctx, page.status, 'scopes' in page ? consentForm(page) : loginForm(page));
  },
  error: showError,
});

async function showError(ctx: Context, { description, reference, status }: PageError): Promise<void> {
  show(ctx, status, `<h1>That did not work</h1><p>${escape(description)}</p><p>Reference: ${reference}</p>`);
}

const MISTAKES = {
  login_missing: 'Enter your email.',
  password_missing: 'Enter your password.',
  login_refused: 'Email or password is incorrect.',
  too_many_attempts: 'Too many attempts. Try again later.',
};

function loginForm({ action, client, login, problems }: LoginForm): string {
  const mistakes = problems.map((problem) => MISTAKES[problem]).join(' ');
  return `<h1>Sign in</h1><p>to continue to ${escape(client.name)}</p><p role="alert">${mistakes}</p>
<form method="post" action="${action}">
  <label>Email <input name="login" type="email" autocomplete="username" value="${escape(login)}" required></label>
  <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
  <button>Sign in</button>
</form>`;
}

function consentForm({ action, client, problems, scopes, user }: ConsentForm): string {
  const items = scopes?.map(({ checked, description, field, name, optional }) => {
    const box = `<input type="checkbox" name="${field}" value="${escape(name)}"${checked ? ' checked' : ''}> `;
    return `<li><label>${optional ? box : ''}${escape(description)}</label></li>`;
  });
  return `<h1>${escape(client.name)} asks for access</h1><p>You are ${escape(user?.name ?? '')}.</p>
<p role="alert">${problems.length > 0 ? 'Choose something, or cancel.' : ''}</p>
<form method="post">
  <ul>${items?.join('') || `<li>${scopes ? 'See who you are' : 'Use all of your permissions'}</li>`}</ul>
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

/** Client names are untrusted input. */
function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const gate = defineGate({ permissions: { view_schools: 'View schools' } });

/** Creates the app. `issuer` is its base URL. */
export async function createSchool(issuer: string): Promise<{ app: Koa; auth: AuthServer<typeof gate> }> {
  const auth = await createAuthServer({
    issuer,
    users: {
      verifyPassword: async (login, password) =>
        login === ann.email && password === 'correct horse' ? ann : undefined,
      find: async (id) => (id === ann.id ? ann : undefined),
      permissions: async () => ['view_schools'],
    },
    storage: memoryStorage(),
    interactions: ownPages,
    gate,
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
