import test from 'ava';

import { createHost } from '../../examples/embed.ts';
import { Browser } from '../harness/browser.ts';
import { serve } from '../harness/serve.ts';

let auth!: Awaited<ReturnType<typeof createHost>>['auth'];
const host = await serve(async (origin) => {
  const made = await createHost(origin);
  auth = made.auth;
  const listener = made.app.callback();
  return (request, response) => void listener(request, response);
});

test.after.always(() => host[Symbol.asyncDispose]());

test('users log in once, on the host’s page, and the client calls the API for them', async (t) => {
  const redirectUri = 'https://app.example/callback';
  const { client, secret } = await auth.clients.create({
    name: 'Reports',
    grantType: 'authorization_code',
    redirectUris: [redirectUri],
  });
  const url = new URL('/oauth/authorize', host.origin);
  url.search = new URLSearchParams({
    client_id: client.id,
    redirect_uri: redirectUri,
    response_type: 'code',
    state: 'x',
  }).toString();

  const browser = new Browser();
  const login = await browser.open(url);
  t.is(login.url.pathname, '/login');
  const consent = await browser.follow(await browser.submit(login, 'Log in as Ann'));
  t.is(consent.heading, 'Authorize Reports');
  const { location } = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.is(location?.searchParams.get('state'), 'x');

  const response = await fetch(`${host.origin}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'authorization_code',
      client_id: client.id,
      client_secret: secret!.value,
      redirect_uri: redirectUri,
      code: location?.searchParams.get('code'),
    }),
  });
  const { access_token: token } = JSON.parse(await response.text());
  const headers = { authorization: `Bearer ${token}` };
  const identity = await fetch(`${host.origin}/api/v1/identity`, { headers });
  t.is(JSON.parse(await identity.text()).data.email, 'ann@host.example');
  t.is((await fetch(`${host.origin}/api/v1/schools`, { headers })).status, 200);
});

test("the host's routes, 404 and error handler are unchanged", async (t) => {
  t.is(await (await fetch(`${host.origin}/oauth/custom`)).text(), 'A route of the host, below /oauth.');
  t.is((await fetch(`${host.origin}/nowhere`)).status, 404);
  const broken = await fetch(`${host.origin}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{',
  });
  t.is(broken.status, 400);
  t.regex(await broken.text(), /^Error of the host: /);
});

test('the host’s login page redirects to its own origin only', async (t) => {
  for (const target of [
    'https://evil.example/',
    '//evil.example',
    String.raw`/\evil.example`,
    'javascript:alert(1)',
  ]) {
    const response = await fetch(`${host.origin}/login?return_to=${encodeURIComponent(target)}`, {
      method: 'POST',
      redirect: 'manual',
    });
    t.is(response.headers.get('location'), '/');
  }
});
