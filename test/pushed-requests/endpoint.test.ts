import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { completeFlow, startPlatform } from '../harness/platform.ts';
import { basic, postForm, postJson, send } from '../harness/requests.ts';
import { breakable } from '../harness/storage.ts';
import { asClient, exchangeCode } from '../harness/tokens.ts';
import { push, pushedUrl, startPushPlatform } from './push.ts';

test('pushes as a form and as JSON, with the secret by HTTP Basic', async (t) => {
  await using platform = await startPushPlatform({ lifetime: '2 minutes' });
  const app = await platform.registerApp();
  const parameters = { response_type: 'code', redirect_uri: app.redirectUri, scope: 'schools:read' };
  const ofBasic = { ...parameters, client_id: app.client.id };
  for (const answer of [
    await postForm(platform.url('/oauth/par'), ofBasic, basic(app.client.id, app.secret)),
    await postJson(platform.url('/oauth/par'), { ...asClient(app), ...parameters }),
  ]) {
    t.is(answer.status, 201, answer.text);
    t.is(answer.headers.get('cache-control'), 'no-store');
    t.like(answer.body, { expires_in: 120 });
    t.regex(String(answer.body!['request_uri']), /^urn:ietf:params:oauth:request_uri:[\w-]{40,}$/);
    const url = platform.url('/oauth/authorize');
    const query = { client_id: app.client.id, request_uri: String(answer.body!['request_uri']) };
    url.search = String(new URLSearchParams(query));
    const callback = await completeFlow(new Browser(), url);
    t.is((await exchangeCode(platform, app, callback.searchParams.get('code'))).body.scope, 'schools:read');
  }
});

test('JSON: null is the same as left out, and a number as its text', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  const request = { ...asClient(app), response_type: 'code', redirect_uri: app.redirectUri };
  const pushJson = async (more: object) => postJson(platform.url('/oauth/par'), { ...request, ...more });
  t.is((await pushJson({ state: null, max_age: 60, unknown: [] })).status, 201);
});

test('the metadata names the endpoint; without the feature there is none', async (t) => {
  await using platform = await startPushPlatform();
  const metadata = (await send(platform.url('/.well-known/oauth-authorization-server'))).body!;
  t.is(metadata['pushed_authorization_request_endpoint'], platform.url('/oauth/par').href);
  t.false('require_pushed_authorization_requests' in metadata);
  await using without = await startPlatform();
  const other = (await send(without.url('/.well-known/oauth-authorization-server'))).body!;
  t.false('pushed_authorization_request_endpoint' in other);
  t.is((await push(without, await without.registerApp())).status, 404);
});

test('public clients are limited by address, confidential ones by client', async (t) => {
  await using platform = await startPushPlatform({ requests: { perAddress: 2, perClient: 3 } });
  const app = await platform.registerApp({ confidential: false });
  const other = await platform.registerApp({ confidential: false, name: 'Other' });
  const service = await platform.registerApp({ name: 'Confidential' });
  const { parameters } = pkce();
  t.is((await push(platform, app, parameters)).status, 201);
  t.is((await push(platform, other, parameters)).status, 201);
  const refused = await push(platform, app, parameters);
  t.is(refused.status, 429);
  t.like(refused.body, { error: 'temporarily_unavailable' });
  t.truthy(refused.headers.get('retry-after'));
  for (const status of [201, 201, 201, 429]) t.is((await push(platform, service)).status, status);
});

test('CORS: an app in a browser can push', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp({ confidential: false });
  const origin = 'https://reports.example';
  const preflight = await send(platform.url('/oauth/par'), { method: 'OPTIONS', headers: { origin } });
  t.is(preflight.headers.get('access-control-allow-origin'), origin);
  const pushed = await push(platform, app, pkce().parameters, { origin });
  t.is(pushed.headers.get('access-control-allow-origin'), origin);
  const other = await push(platform, app, pkce().parameters, { origin: 'https://evil.example' });
  t.is(other.headers.get('access-control-allow-origin'), null);
});

test('audit: who has pushed', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  await push(platform, app);
  const [record] = await platform.auth.audit.list({ types: ['authorization_pushed'] });
  t.like(record, { clientId: app.client.id, address: '127.0.0.1' });
});

test('a storage that cannot be reached is answered with 503, at both endpoints', async (t) => {
  const { broken, storage } = breakable();
  await using platform = await startPushPlatform({}, { storage });
  const app = await platform.registerApp();
  const url = await pushedUrl(platform, app);
  broken.add('pushedRequests');
  const refused = await push(platform, app);
  t.is(refused.status, 503);
  t.like(refused.body, { error: 'temporarily_unavailable' });
  const browser = new Browser();
  t.is((await browser.open(url)).status, 503);
  broken.clear();
  t.is((await browser.open(url)).status, 200);
});
