import { inspect } from 'node:util';

import test from 'ava';
import type { AuditRecord } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, connect, signIn, startPlatform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { basic, postForm, postJson, send } from '../harness/requests.ts';
import { asClient } from './families.ts';

test('no credential and nothing that a stranger wrote is in a record or a line of the log', async (t) => {
  const storage = memoryStorage();
  await using own = await startPlatform({ storage });
  const told: AuditRecord[] = [];
  own.auth.events.on('*', (record) => told.push(record));
  const app = await own.registerApp();
  const service = await own.registerService();
  const url = own.url('/oauth/token');
  const added = await own.auth.clients.addSecret(app.client.id, { label: 'second' });
  const rotated = await own.auth.clients.rotateSecret(service.client.id);
  const { verifier, parameters } = pkce();

  // Planted in every place that takes a text.
  const PLANTED = 'PLANTED';
  const planted = Object.fromEntries(
    [
      'grant_type',
      'scope',
      'code',
      'code_verifier',
      'redirect_uri',
      'refresh_token',
      'resource',
      'state',
    ].map((name) => [name, `${PLANTED}-${name}`]),
  );
  const headers = {
    origin: `https://${PLANTED}.example`,
    'user-agent': PLANTED,
    referer: `https://x.example/${PLANTED}`,
    'x-forwarded-for': PLANTED,
    'x-request-id': PLANTED,
  };
  for (const grantType of ['authorization_code', 'refresh_token', 'client_credentials', `${PLANTED}-grant`]) {
    for (const by of [asClient(app), asClient(service), { client_id: PLANTED, client_secret: PLANTED }]) {
      for (const only of [[], ...Object.keys(planted).map((name) => [name])]) {
        const fields = Object.fromEntries(Object.entries(planted).filter(([name]) => !only.includes(name)));
        await postForm(url, { ...fields, grant_type: grantType, ...by }, only.length > 0 ? {} : headers);
      }
      await postForm(url, { grant_type: grantType, scope: PLANTED, ...by });
      await postForm(url, { grant_type: grantType, resource: `https://${PLANTED}.example`, ...by });
    }
  }
  await postForm(url, { grant_type: 'client_credentials' }, basic(PLANTED, PLANTED));
  await postForm(url, { grant_type: 'client_credentials' }, { authorization: `Basic ${PLANTED}` });
  await postJson(url, `{"${PLANTED}`);
  await send(`${url.href}?${PLANTED}`, { method: 'DELETE' });
  const stranger = new Browser();
  for (const name of [
    'client_id',
    'redirect_uri',
    'response_type',
    'response_mode',
    'scope',
    'prompt',
    'resource',
    'state',
    'login_hint',
    'code_challenge',
    'code_challenge_method',
    'request',
    'request_uri',
    'claims',
    'registration',
    'nonce',
    PLANTED,
  ]) {
    await stranger.get(authorizeUrl(own, app, { [name]: `${PLANTED} ${name}` }), headers);
    await stranger.get(authorizeUrl(own, app, { [name]: PLANTED, prompt: 'none' }));
  }
  const login = await stranger.open(authorizeUrl(own, app, { state: PLANTED }));
  await signIn(stranger, login, `${PLANTED}@school.example`, `${PLANTED} password`);
  await stranger.get(own.url(`/oauth/interaction/${PLANTED}`));
  for (const path of ['/oauth/revoke', '/oauth/introspect']) {
    await postForm(own.url(path), { ...asClient(app), token: PLANTED, token_type_hint: PLANTED });
    await postForm(own.url(path), { client_id: PLANTED, client_secret: PLANTED, token: PLANTED });
  }

  // Every credential, used, used twice, and revoked.
  const browser = new Browser();
  const callback = await authorize(own, app, { browser, parameters });
  const code = callback.get('code')!;
  const exchange = {
    grant_type: 'authorization_code',
    ...asClient(app),
    redirect_uri: app.redirectUri,
    code,
    code_verifier: verifier,
  };
  const first = await own.token(exchange);
  t.is(first.status, 200);
  const refresh = { grant_type: 'refresh_token', client_id: app.client.id, client_secret: added.value };
  const second = await own.token({ ...refresh, refresh_token: first.body.refresh_token });
  await own.token(exchange);
  await own.token({ ...refresh, refresh_token: second.body.refresh_token });
  const third = (await connect(own, app, { browser })).body;
  await postForm(own.url('/oauth/revoke'), { ...asClient(app), token: third.access_token });
  await postForm(own.url('/oauth/revoke'), { ...asClient(app), token: third.refresh_token });
  await own.auth.revoke({ token: first.body.access_token });
  const ofService = { grant_type: 'client_credentials', client_id: service.client.id };
  const own1 = await own.token({ ...ofService, client_secret: rotated.value });
  await own.token({ ...ofService, client_secret: service.secret });
  const cookies = [...stranger.cookies, ...browser.cookies].map(({ value }) => value);
  await own.auth.keys.rotate({ after: 0 });
  await own.auth.clients.delete(service.client.id);
  await browser.post(own.url('/oauth/logout'), new URLSearchParams());

  const kept = await own.auth.audit.list({ limit: 200 });
  t.true(kept.length > 100, String(kept.length));
  const everything = inspect([told, await storage.audit.list({ limit: 5000 }), own.logger.lines], {
    depth: 20,
    maxArrayLength: null,
    maxStringLength: null,
  });
  t.true(everything.includes(app.client.id), 'the search finds what is there');
  const credentials = {
    planted: PLANTED,
    'the secret of the app': app.secret,
    'its second secret': added.value,
    'the secret of the service': service.secret,
    'its second one': rotated.value,
    'a code': code,
    'a verifier': verifier,
    'a password': 'correct horse',
    ...Object.fromEntries(
      [first.body, second.body, third, own1.body].flatMap((body, index) => [
        [`access token ${index}`, body.access_token],
        [`refresh token ${index}`, body.refresh_token ?? body.access_token],
      ]),
    ),
    ...Object.fromEntries(cookies.map((value, index) => [`cookie ${index}`, value])),
  };
  for (const [what, value] of Object.entries(credentials)) {
    t.true(value.length > 5, what);
    const at = everything.toLowerCase().indexOf(value.toLowerCase());
    t.is(at === -1 ? '' : everything.slice(Math.max(at - 200, 0), at + 50), '', what);
  }
  const types = new Set(told.map(({ type }) => type));
  for (const type of [
    'token_issued',
    'token_refused',
    'authorization_refused',
    'login',
    'login_failed',
    'logout',
    'consent_given',
    'tokens_revoked',
    'secret_added',
    'secret_deleted',
    'client_deleted',
    'key_rotated',
  ] as const) {
    t.true(types.has(type), type);
  }
});
