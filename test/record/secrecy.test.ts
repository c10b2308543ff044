import { inspect } from 'node:util';

import test from '../harness/test.ts';
import { defineAction } from 'koa-gatehouse';
import { createMetrics } from 'koa-gatehouse/metrics';
import { z } from 'zod';

import { valueOf } from '../developer/area.ts';
import { passwordOf, startDeveloperPlatform } from '../developer/developers.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn } from '../harness/platform.ts';
import type { Mounting, RegisteredApp } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { basic, postForm, postJson, send } from '../harness/requests.ts';
import { asClient, requestClientToken } from '../harness/tokens.ts';
import { startSdk } from './spans.ts';

const spans = startSdk();

const renew = defineAction({
  type: 'school',
  name: 'renew-action',
  level: 'collection',
  title: 'Renew',
  permission: 'view_schools',
  input: z.object({ password: z.string() }),
  output: z.object({ renewed: z.boolean() }),
  run({ input }) {
    if (input.password.startsWith('boom')) throw new Error('it broke');
    return { renewed: true };
  },
});

/** An app with app.proxy, and an API with an action. */
const mounting: Mounting = { koa: { proxy: true }, api: { actions: [renew] } };

test('no line, span or metric of any flow contains a credential', async (t) => {
  await using own = await startDeveloperPlatform({}, mounting);
  const metrics = createMetrics(own.auth);
  const credentials: Record<string, string | undefined> = {};
  const url = own.url('/oauth/token');

  // A developer sees secrets.
  const developing = await own.signInAs('dora');
  const page = await developing.open(own.url('/developer/apps/new'));
  const created = await developing.submit(page, 'Create app', {
    name: 'Nightly',
    grantType: 'client_credentials',
  });
  const shown = valueOf(created, 'secret');
  const id = valueOf(created, 'client-id');
  const secrets = await developing.open(own.url(`/developer/apps/${id}/secrets`));
  const added = await developing.submit(secrets, 'Add a secret', { label: 'May', expires: '' });
  credentials['a secret that is shown'] = shown;
  credentials['one that is added'] = valueOf(added, 'secret');

  // Each grant, with credentials that are right, repeated, misplaced and wrong.
  const platformApp: RegisteredApp = await own.registerApp({ name: 'Reports' });
  const service = await own.registerFor(undefined, { permissions: ['view_schools'] });
  credentials['the secret of the app'] = platformApp.secret;
  credentials['the secret of the service'] = service.secret;
  credentials['a wrong secret'] = 'gh_wrong_secret_that_was_mistyped';
  const { verifier, parameters } = pkce();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(own, platformApp, parameters));
  const person = passwordOf('ann');
  await signIn(browser, login, person.email, 'a wrong password');
  await signIn(browser, login, person.password, person.password);
  await signIn(browser, login, person.email, person.password);
  const callback = await authorize(own, platformApp, { browser, parameters });
  credentials['a verifier'] = verifier;
  credentials['a password'] = person.password;
  credentials['a wrong password'] = 'a wrong password';
  credentials['a code'] = callback.get('code')!;
  const exchange = {
    grant_type: 'authorization_code',
    ...asClient(platformApp),
    redirect_uri: platformApp.redirectUri,
    code: callback.get('code'),
    code_verifier: verifier,
  };
  const first = (await own.token(exchange)).body;
  const refresh = { grant_type: 'refresh_token', ...asClient(platformApp) };
  const second = (await own.token({ ...refresh, refresh_token: first.refresh_token })).body;
  await own.token({ ...refresh, refresh_token: second.access_token });
  await own.token({ ...refresh, client_secret: credentials['a wrong secret'], refresh_token: 'x' });
  await own.token({ ...refresh, refresh_token: platformApp.secret });
  await own.token({ ...refresh, grant_type: platformApp.secret });
  await own.token({ ...refresh, client_id: platformApp.secret });
  await own.token({ ...refresh, scope: second.refresh_token });
  const ofService = (await requestClientToken(own, service)).body;
  await postForm(url, { grant_type: 'client_credentials' }, basic(service.client.id, shown));
  await postForm(url, { grant_type: 'client_credentials' }, basic(service.secret, service.client.id));
  await postForm(`${url.href}?client_secret=${service.secret}`, { grant_type: 'client_credentials' });
  await postJson(url, `{"client_secret":"${service.secret}"`);
  await send(`${url.href}?access_token=${second.access_token}`);
  for (const [index, body] of [first, second, ofService].entries()) {
    credentials[`access token ${index}`] = body.access_token;
    credentials[`refresh token ${index}`] = body.refresh_token;
  }

  // At the API: right, in the URL, wrong, with an Idempotency-Key, and with an error of the handler.
  const api = '/school/renew-action';
  for (const password of ['a password in a body', 'boom: a password in a body']) {
    for (const token of [ofService.access_token, `${second.access_token}x`]) {
      await send(`${own.origin}/api/v1/actions${api}?access_token=${second.access_token}`);
      await send(`${own.origin}/api/v1/actions${api}`, {
        method: 'POST',
        body: JSON.stringify({ password }),
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': `a-key-of-an-idempotent-request-${password.length}`,
          'x-request-id': token,
        },
      });
    }
  }
  credentials['a password in a body'] = 'a password in a body';
  credentials['an Idempotency-Key'] = 'a-key-of-an-idempotent-request';

  // Refreshed, revoked, signed out.
  const third = (await runCodeFlow(own, platformApp, { browser })).body;
  for (const path of ['/oauth/introspect', '/oauth/revoke']) {
    for (const token of [third.access_token, third.refresh_token, first.refresh_token]) {
      await postForm(
        own.url(path),
        { ...asClient(platformApp), token, token_type_hint: token },
        {
          'x-request-id': platformApp.secret,
        },
      );
    }
  }
  await own.token(exchange);
  credentials['the last access token'] = third.access_token;
  credentials['the last refresh token'] = third.refresh_token;
  const cookies = [...developing.cookies, ...browser.cookies];
  for (const { name, value } of cookies) credentials[`the cookie ${name}`] = value;
  await browser.post(own.url('/oauth/logout'), new URLSearchParams());

  const all = { depth: 20, maxArrayLength: null, maxStringLength: null };
  const outputs = {
    lines: inspect(own.logger.lines, all),
    spans: inspect(
      spans.all.map(({ attributes, events, name, status }) => ({ name, attributes, events, status })),
      all,
    ),
    figures: await metrics.register.metrics(),
  };
  t.true(own.logger.lines.length > 20);
  t.true(outputs.lines.includes('it broke'));
  t.true(outputs.lines.includes(platformApp.client.id));
  t.true(outputs.spans.includes(platformApp.client.id));
  t.regex(outputs.figures, /gatehouse_tokens_issued_total\{grant_type="refresh_token"\} 1/);
  t.true(cookies.length > 3);
  for (const [what, value] of Object.entries(credentials)) {
    if (value === undefined) continue;
    t.true(value.length > 5, what);
    for (const [where, text] of Object.entries(outputs)) {
      const at = text.indexOf(value);
      t.is(at === -1 ? '' : text.slice(Math.max(at - 200, 0), at + 50), '', `${what} in the ${where}`);
    }
  }
});
