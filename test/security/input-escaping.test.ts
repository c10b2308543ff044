import test from '../harness/test.ts';

import { passwordOf, startDeveloperPlatform } from '../developer/developers.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, people, signIn } from '../harness/platform.ts';
import type { Middleware } from 'koa';

/** Would end an attribute in either kind of quotes, an element and a header field, and run in a template. */
const HOSTILE = `"injected="'injected='<script>injected</script><%= injected %>`;
const HOSTILE_LINES = `${HOSTILE}\r\nX-Injected: yes\r\n\r\n<h1>injected</h1>`;

interface Sent {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Middleware that records its responses. */
const recording =
  (sent: Sent[]): Middleware =>
  async (ctx, next) => {
    await next();
    const body: unknown = ctx.body;
    sent.push({
      url: ctx.url,
      status: ctx.status,
      headers: { ...ctx.response.headers },
      body: typeof body === 'string' ? body : (JSON.stringify(body) ?? ''),
    });
  };

test('input is escaped in every page and header, and not logged', async (t) => {
  const sent: Sent[] = [];
  const users = people();
  const hostile = {
    id: 'eve',
    name: HOSTILE,
    email: HOSTILE,
    password: passwordOf('dora').password,
  };
  const permissions = ['manage_apps', 'manage_all_apps', 'view_schools'];
  await using platform = await startDeveloperPlatform(
    {
      users: {
        ...users,
        find: async () => ({ ...hostile, permissions }),
        verifyPassword: async () => ({ ...hostile, permissions }),
        permissions: async () => permissions,
        roles: async () => [],
      },
    },
    { before: [recording(sent)] },
  );
  const { client } = await platform.registerFor(undefined, {
    name: HOSTILE,
    grantType: 'authorization_code',
    redirectUris: [`https://reports.example/${encodeURIComponent(HOSTILE)}?'injected='`],
  });
  const app = { client, secret: '', redirectUri: client.redirectUris[0]! };
  await platform.auth.clients.addSecret(client.id, { label: HOSTILE });

  // Requests to each endpoint, with the text in each parameter.
  const odd = encodeURIComponent(HOSTILE_LINES);
  const names = `client_id redirect_uri response_type response_mode scope prompt resource request code_challenge
    code_challenge_method login_hint state ui_locales claims error error_description`;
  const signedOut = new Browser();
  for (const name of names.split(/\s+/)) {
    for (const text of [HOSTILE, HOSTILE_LINES])
      await signedOut.open(authorizeUrl(platform, app, { [name]: text }));
  }
  const paths = [
    '/oauth/authorize/',
    '/oauth/interaction/',
    '/oauth/login?return_to=',
    '/oauth/logout?x=',
    '/oauth/assets/x/',
    '/developer/apps/',
    '/developer/apps?search=',
    '/account/apps/',
    '/api/v1/',
    '/api/v1/actions/',
    '/oauth/',
  ];
  for (const path of paths) {
    await signedOut.get(platform.url(path + odd));
    await signedOut.post(
      platform.url(path + odd),
      new URLSearchParams({ login: HOSTILE, password: HOSTILE, [HOSTILE]: HOSTILE_LINES }),
    );
  }
  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/introspect']) {
    const fields = {
      client_id: HOSTILE,
      client_secret: HOSTILE,
      grant_type: HOSTILE,
      token: HOSTILE,
      scope: HOSTILE,
      resource: HOSTILE,
    };
    for (const headers of [{}, { accept: 'text/html' }, { authorization: `Basic ${btoa(`${odd}:${odd}`)}` }])
      await signedOut.post(platform.url(path), new URLSearchParams(fields), headers);
  }

  // Each page that a signed-in user can open for such an app.
  const browser = await platform.signInAs('dora');
  const asked = await browser.open(
    authorizeUrl(platform, app, { state: HOSTILE_LINES, login_hint: HOSTILE }),
  );
  t.regex(asked.heading, /^Authorize /);
  const authorized = await browser.follow(await browser.submit(asked, 'Authorize'));
  t.is(authorized.location?.searchParams.get('state'), HOSTILE_LINES);
  const home = `/developer/apps/${client.id}`;
  for (const path of [
    '/account/apps',
    `/account/apps/${client.id}/revoke`,
    '/developer/apps',
    '/developer/apps/new',
    home,
    `${home}/settings`,
    `${home}/permissions`,
    `${home}/secrets`,
    `${home}/activity`,
    `${home}/disable`,
    `${home}/delete`,
    `/developer/apps?search=${odd}`,
    `/developer/apps/new?name=${odd}`,
    '/oauth/logout',
  ]) {
    const page = await browser.open(platform.url(path));
    t.is(page.status, 200, path);
  }
  for (const path of ['/developer/apps/new', `${home}/settings`, `${home}/secrets`, `${home}/permissions`]) {
    const typed = {
      name: HOSTILE_LINES,
      redirectUris: HOSTILE_LINES,
      label: HOSTILE_LINES,
      expires: HOSTILE,
      once: 'x'.repeat(36),
      version: HOSTILE,
      [HOSTILE]: HOSTILE,
      place: HOSTILE,
      grantType: HOSTILE,
    };
    await browser.post(platform.url(path), new URLSearchParams(typed));
  }
  await browser.open(platform.url(`/account/apps/${client.id}/revoke`));
  await signIn(
    new Browser(),
    await new Browser().open(authorizeUrl(platform, app, { login_hint: HOSTILE })),
    HOSTILE,
    HOSTILE,
  );

  t.true(sent.length > 100);
  for (const { url, status, headers, body } of sent) {
    t.true(status < 500, `${status} ${url}`);
    for (const [name, value] of Object.entries(headers)) {
      t.notRegex(`${name}: ${String(value)}`, /x-injected: |["<]injected|[\r\n]/i, url);
    }
    if (/json/.test(String(headers['content-type']))) t.notThrows(() => JSON.parse(body) as unknown, url);
    else t.notRegex(body, /["']injected=|<script>injected|<h1>injected|<%/, url);
  }
  const escaped = sent.filter(({ body }) => body.includes('&lt;script&gt;injected'));
  t.true(escaped.length > 10, 'the pages show it as text');
  for (const { message, fields } of platform.logger.lines) {
    t.notRegex(message + JSON.stringify(fields), /injected/, message);
  }
});
