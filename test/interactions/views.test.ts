import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { escapeHtml, pages } from 'koa-gatehouse/interactions';
import { send } from '../harness/requests.ts';
import { fakeFlow, reports } from './fake-flow.ts';
import { serveApp } from '../harness/serve.ts';
import { servePages } from './serve-pages.ts';
import type { OwnViews } from '../../interactions/views.ts';

const brand = { name: 'Acme' };
const ODD = { ...reports, name: '<b>"Reports" & \'co\'</b>' };

/** A folder of views, removed after the test. */
function folderWith(t: ExecutionContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

test('a file in the folder replaces the bundled view of its name; the others remain', async (t) => {
  const folder = folderWith(t, {
    'login.ejs': '<form method="post" action="<%= page.action %>"><%= page.text["login.submit"] %>!</form>',
    'authorized-apps/list.ejs': '<p><%= page.authorizedApps.length %> of them</p>',
    'README.md': 'Not a view.',
  });
  for (const views of [folder, pathToFileURL(folder), pathToFileURL(folder).href]) {
    const flow = fakeFlow({ flow: { accountPath: '/account/apps' } });
    const site = await servePages(t, flow, { brand, views });
    const login = await site.get('/oauth/interaction/login');
    const form = '<form method="post" action="/oauth/interaction/login/login">Sign in!</form>';
    t.true(login.html.includes(form));
    t.true(login.html.includes('<title>Sign in · Acme</title>'), 'inside the bundled layout');
    t.true((await site.get('/account/apps')).html.includes('<p>0 of them</p>'));
    t.true((await site.get('/oauth/interaction/consent')).text.includes('Authorize Reports'));
  }
});

test('the layout and partials can be replaced, and others added', async (t) => {
  const views = folderWith(t, {
    'layout.ejs':
      '<!doctype html><html lang="<%= page.language %>"><%- page.part("brand", {}) %><%- page.body %></html>',
    'login.ejs': '<%- page.part("hello", { name: page.login }) %>',
    'parts/brand.ejs': '<p>Our brand</p>',
    'parts/hello.ejs': '<p>Hello <%= page.name %> from <%= page.brand %></p>',
  });
  const flow = fakeFlow({ login: { loginHint: '<i>ann</i>' } });
  const site = await servePages(t, flow, { brand, views });
  const { html, headers } = await site.get('/oauth/interaction/login');
  t.is(
    html,
    '<!doctype html><html lang="en"><p>Our brand</p><p>Hello &lt;i&gt;ann&lt;/i&gt; from Acme</p></html>',
  );
  t.regex(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'self';/);
});

test('a function replaces the bundled view of its name', async (t) => {
  const views: OwnViews = {
    consent: (page) => `<p>${escapeHtml(page.destination)}: ${page.scopes?.length ?? 0}</p>`,
    notice: (page) => page.details.map(({ value }) => `<p>${escapeHtml(value)}</p>`).join(''),
    layout: (page) => `<title>${escapeHtml(page.title)}</title>${page.body}`,
    login: undefined,
  };
  const site = await servePages(t, fakeFlow({ consent: { client: ODD } }), { brand, views });
  const consent = await site.get('/oauth/interaction/consent');
  t.is(
    consent.html,
    '<title>Authorize &lt;b&gt;&#34;Reports&#34; &amp; &#39;co&#39;&lt;/b&gt;</title><p>https://reports.example: 0</p>',
  );
  t.is(consent.headers.get('content-type'), 'text/html; charset=utf-8');
  const error = { status: 400, error: 'invalid_request', description: '<script>', reference: 'r1' };
  t.true((await site.fail(error)).html.endsWith('<p>invalid_request</p><p>&lt;script&gt;</p><p>r1</p>'));
});

test('the style sheet of the brand is the last one on every page, under the same Content-Security-Policy', async (t) => {
  const folder = folderWith(t, { 'acme.css': 'h1 { font-style: italic; }' });
  const flow = fakeFlow({ flow: { accountPath: '/account/apps' } });
  const site = await servePages(t, flow, { brand: { ...brand, stylesheet: join(folder, 'acme.css') } });
  for (const path of ['/oauth/interaction/login', '/account/apps']) {
    const { html, headers } = await site.get(path);
    const sheets = [...html.matchAll(/rel="stylesheet" href="([^"]+)"/g)].map((match) => match[1] ?? '');
    t.regex(sheets.at(-1) ?? '', /^\/oauth\/assets\/[\w-]{12}\/brand\.css$/);
    t.is((await site.get(sheets.at(-1) ?? '')).html, 'h1 { font-style: italic; }');
    t.regex(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'self'; img-src/);
  }
});

test('invalid options of views are a ConfigError', (t) => {
  const wrong = folderWith(t, { 'logn.ejs': '' });
  const broken = folderWith(t, { 'login.ejs': '<% if ( { %>' });
  const empty = folderWith(t, {});
  const folder = folderWith(t, { 'login.ejs/nothing': '' });
  const names = 'The views are: authorized-apps/list, confirm, consent, layout, login, logout,';
  for (const [views, option, message] of [
    ['./views', '', 'must be the absolute path, or the file: URL, of a folder\\.$'],
    ['/nowhere/views', '', 'the folder /nowhere/views cannot be read\\.'],
    [wrong, '', `logn\\.ejs is not the name of a view\\. ${names}`],
    [broken, '', 'login\\.ejs cannot be read or compiled: '],
    [folder, '', 'login\\.ejs cannot be read or compiled: EISDIR'],
    [empty, '', 'there is no \\.ejs file in '],
    [{ logn: () => '' }, '.logn', `there is no such view\\. ${names}`],
    [{ constructor: () => '' }, '.constructor', 'there is no such view\\.'],
    [{ login: '<p>' }, '.login', 'must be a function that returns HTML\\.$'],
    [7, '', 'must be a folder, or an object with functions by the names of views\\.$'],
  ] as const) {
    // The names of views are known when the server is made, because features have views too.
    const given = () => pages({ views: views as never })(fakeFlow());
    const error = t.throws(given, { code: 'ERR_CONFIG', message: new RegExp(message) });
    t.like(error, { option: `interactions.views${option}` });
  }
  for (const stylesheet of ['./acme.css', 'https://cdn.example/acme.css']) {
    t.throws(() => pages({ brand: { ...brand, stylesheet } }), {
      message: 'interactions.brand.stylesheet: must be an absolute path or a file: URL.',
    });
  }
  t.throws(() => pages({ brand: { ...brand, stylesheet: '/nowhere/acme.css' } }), {
    message: /^interactions\.brand\.stylesheet: cannot be read from file:\/\/\/nowhere\/acme\.css\./,
  });
});

test('a view that includes a missing partial is an error that names it', async (t) => {
  const views = folderWith(t, { 'login.ejs': '<%- page.part("hallo", {}) %>' });
  const made = pages({ views })(fakeFlow());
  const origin = await serveApp(
    t,
    async (ctx, next) => next().catch((error: unknown) => (ctx.body = String(error))),
    made.middleware,
  );
  const { text } = await send(`${origin}/oauth/interaction/login`);
  t.regex(text, /There is no parts\/hallo\.ejs\./);
});
