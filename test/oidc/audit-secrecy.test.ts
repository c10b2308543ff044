import { inspect } from 'node:util';

import test from '../harness/test.ts';
import type { AuditRecord } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { basic, postForm, postJson, send } from '../harness/requests.ts';
import { asClient, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';

test('audit events and log lines contain no credential and no text of a request', async (t) => {
  const storage = memoryStorage();
  await using own = await startPlatform({ storage });
  const notified: AuditRecord[] = [];
  own.auth.events.on('*', (record) => notified.push(record));
  const app = await own.registerApp();
  const service = await own.registerService();
  const url = own.url('/oauth/token');
  const added = await own.auth.clients.addSecret(app.client.id, { label: 'second' });
  const rotated = await own.auth.clients.rotateSecret(service.client.id);
  const { verifier, parameters } = pkce();

  // A marker in each parameter and header field.
  const MARKER = 'MARKER';
  const marked = Object.fromEntries(
    'scope code code_verifier redirect_uri refresh_token resource state'
      .split(' ')
      .map((name) => [name, `${MARKER}-${name}`]),
  );
  const headers = {
    origin: `https://${MARKER}.example`,
    'user-agent': MARKER,
    referer: `https://x.example/${MARKER}`,
    'x-forwarded-for': MARKER,
    'x-request-id': MARKER,
  };
  for (const grantType of ['authorization_code', 'refresh_token', 'client_credentials', `${MARKER}-grant`]) {
    for (const by of [asClient(app), asClient(service), { client_id: MARKER, client_secret: MARKER }]) {
      await postForm(url, { ...marked, grant_type: grantType, ...by }, headers);
      for (const [name, value] of Object.entries(marked))
        await postForm(url, { grant_type: grantType, ...by, [name]: value });
    }
  }
  await postForm(url, { grant_type: 'client_credentials' }, basic(MARKER, MARKER));
  await postForm(url, { grant_type: 'client_credentials' }, { authorization: `Basic ${MARKER}` });
  await postJson(url, `{"${MARKER}`);
  await send(`${url.href}?${MARKER}`, { method: 'DELETE' });
  const signedOut = new Browser();
  const names =
    'client_id redirect_uri response_type response_mode scope prompt resource state login_hint code_challenge code_challenge_method request request_uri claims registration nonce MARKER';
  for (const name of names.split(' ')) {
    await signedOut.get(authorizeUrl(own, app, { [name]: `${MARKER} ${name}` }), headers);
    await signedOut.get(authorizeUrl(own, app, { [name]: MARKER, prompt: 'none' }));
  }
  const login = await signedOut.open(authorizeUrl(own, app, { state: MARKER }));
  await signIn(signedOut, login, `${MARKER}@school.example`, `${MARKER} password`);
  await signedOut.get(own.url(`/oauth/interaction/${MARKER}`));
  for (const path of ['/oauth/revoke', '/oauth/introspect']) {
    await postForm(own.url(path), { ...asClient(app), token: MARKER, token_type_hint: MARKER });
    await postForm(own.url(path), { client_id: MARKER, client_secret: MARKER, token: MARKER });
  }

  // Each credential, used, used twice and revoked.
  const browser = new Browser();
  const callback = await authorize(own, app, { browser, parameters });
  const code = callback.get('code')!;
  const proof = { code_verifier: verifier };
  const first = await exchangeCode(own, app, code, proof);
  t.is(first.status, 200);
  const withSecond = { client: app.client, secret: added.value };
  const second = await exchangeRefreshToken(own, withSecond, first.body.refresh_token);
  await exchangeCode(own, app, code, proof);
  await exchangeRefreshToken(own, withSecond, second.body.refresh_token);
  const third = (await runCodeFlow(own, app, { browser })).body;
  await postForm(own.url('/oauth/revoke'), { ...asClient(app), token: third.access_token });
  await postForm(own.url('/oauth/revoke'), { ...asClient(app), token: third.refresh_token });
  await own.auth.revoke({ token: first.body.access_token });
  const ofService = await requestClientToken(own, { client: service.client, secret: rotated.value });
  await requestClientToken(own, service);
  const cookies = [...signedOut.cookies, ...browser.cookies].map(({ value }) => value);
  await own.auth.signingKeys.rotate();
  await own.auth.clients.delete(service.client.id);
  await browser.post(own.url('/oauth/logout'), new URLSearchParams());

  const listed = await own.auth.audit.list({ limit: 200 });
  t.true(listed.length > 100, String(listed.length));
  const everything = inspect([notified, await storage.audit.list({ limit: 5000 }), own.logger.lines], {
    depth: 20,
    maxArrayLength: null,
    maxStringLength: null,
  });
  t.true(everything.includes(app.client.id), 'the search finds a value that is recorded');
  const credentials = {
    marked: MARKER,
    'the secret of the app': app.secret,
    'its second secret': added.value,
    'the secret of the service': service.secret,
    'its next secret': rotated.value,
    'a code': code,
    'a verifier': verifier,
    'a password': 'correct horse',
    ...Object.fromEntries(
      [first.body, second.body, third, ofService.body].flatMap((body, index) => [
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
  const types = new Set(notified.map(({ type }) => type));
  for (const type of [
    'token_issued',
    'token_refused',
    'authorization_refused',
    'login_failed',
    'logout',
    'consent_given',
    'tokens_revoked',
    'secret_deleted',
    'client_deleted',
    'key_rotated',
  ] as const)
    t.true(types.has(type), type);
});
