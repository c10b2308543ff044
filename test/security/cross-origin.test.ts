import test from '../harness/test.ts';

import { authorize, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { postForm, postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const OWN = 'https://reports.example';
const EVIL = 'https://evil.example';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  const secretApp = await platform.registerApp();
  const browserApp = await platform.registerApp({ confidential: false });
  const endpoint = `${platform.origin}/oauth/token`;
  return { platform, secretApp, browserApp, endpoint };
});

/** The fields that redeem a new code of the public client. */
async function codeOf(app: RegisteredApp): Promise<Record<string, string>> {
  const { platform } = await started();
  const { verifier, parameters } = pkce();
  const answer = await authorize(platform, app, { parameters });
  return {
    grant_type: 'authorization_code',
    client_id: app.client.id,
    redirect_uri: app.redirectUri,
    code: answer.get('code')!,
    code_verifier: verifier,
  };
}

function corsHeadersOf({ headers }: Pick<Answer, 'headers'>): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));
}

test('a public client can redeem its code from a page of the origin of its redirect URI', async (t) => {
  const { endpoint, browserApp } = await started();
  const answer = await postForm(endpoint, await codeOf(browserApp), { origin: OWN });
  t.is(answer.status, 200);
  t.deepEqual(corsHeadersOf(answer), { 'access-control-allow-origin': OWN });
  t.regex(answer.headers.get('vary') ?? '', /\bOrigin\b/);

  const refused = await postJson(
    endpoint,
    { client_id: browserApp.client.id, grant_type: 'refresh_token', refresh_token: 'x' },
    { origin: OWN },
  );
  t.is(refused.body?.['error'], 'invalid_grant');
  t.deepEqual(
    corsHeadersOf(refused),
    { 'access-control-allow-origin': OWN },
    'the client can read the error',
  );
});

test('a page of another origin cannot read the token response', async (t) => {
  const { endpoint, browserApp } = await started();
  for (const origin of [EVIL, 'null', 'http://reports.example', 'https://reports.example:8443', 'x"\\y']) {
    const answer = await postForm(endpoint, await codeOf(browserApp), { origin });
    t.deepEqual(corsHeadersOf(answer), {}, origin);
    t.is(answer.status, 200, 'the response does not depend on the header');
  }
});

test('the private-use scheme of a native app gives no CORS headers', async (t) => {
  const { platform, endpoint } = await started();
  const redirectUris = ['com.example.reports:/callback'];
  const app = await platform.registerApp({ confidential: false, native: true, redirectUris });
  const answer = await postForm(endpoint, await codeOf(app), { origin: 'null' });
  t.is(answer.status, 200);
  t.deepEqual(corsHeadersOf(answer), {});
});

test('a confidential client gets no CORS headers', async (t) => {
  const { platform, secretApp, endpoint } = await started();
  const { body } = await runCodeFlow(platform, secretApp);
  const fields = { grant_type: 'refresh_token', ...asClient(secretApp), refresh_token: body.refresh_token };
  for (const origin of [OWN, EVIL]) {
    const answer = await postForm(endpoint, fields, { origin });
    t.is(answer.status, 200);
    t.deepEqual(corsHeadersOf(answer), {}, origin);
  }
});

test('with an Origin header the responses for a registered and an unknown client are the same', async (t) => {
  const { endpoint, secretApp } = await started();
  const fields = { client_secret: 'x', grant_type: 'client_credentials' };
  const known = await postForm(endpoint, { ...fields, client_id: secretApp.client.id }, { origin: EVIL });
  const unknown = await postForm(endpoint, { ...fields, client_id: 'unknown' }, { origin: EVIL });
  t.is(known.status, 401);
  t.is(known.text, unknown.text);
  t.deepEqual(corsHeadersOf(known), corsHeadersOf(unknown));
});

test('a preflight request allows POST with a content type, without credentials', async (t) => {
  const { endpoint } = await started();
  const { status, headers } = await send(endpoint, {
    method: 'OPTIONS',
    headers: {
      origin: OWN,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type, authorization, x-odd',
    },
  });
  t.is(status, 204);
  t.deepEqual(corsHeadersOf({ headers }), {
    'access-control-allow-origin': OWN,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'content-type',
    'access-control-max-age': '600',
  });
  t.regex(headers.get('vary') ?? '', /\bOrigin\b/);
  const { headers: plain } = await send(endpoint, { method: 'OPTIONS' });
  t.deepEqual(corsHeadersOf({ headers: plain }), {});
});

test('the other endpoints and pages have no CORS headers', async (t) => {
  const { browserApp, platform } = await started();
  const client = { client_id: browserApp.client.id, token: 'x' };
  for (const path of ['/oauth/revoke', '/oauth/introspect', '/OAUTH/Revoke/']) {
    for (const origin of [OWN, EVIL]) {
      const url = platform.origin + path;
      t.deepEqual(corsHeadersOf(await postForm(url, client, { origin })), {}, path);
      const headers = { origin, 'access-control-request-method': 'POST' };
      t.deepEqual(corsHeadersOf(await send(url, { method: 'OPTIONS', headers })), {}, path);
    }
  }
  const authorization = `/oauth/authorize?client_id=${browserApp.client.id}&response_type=code`;
  for (const path of [
    authorization,
    '/oauth/authorize/x',
    '/oauth/interaction/x',
    '/oauth/login',
    '/oauth/logout',
    '/oauth/nothing',
    '/account/apps',
    '/api/v1/identity',
    '/api/v1/openapi.json',
  ]) {
    for (const method of ['GET', 'OPTIONS', 'POST']) {
      const headers = { origin: OWN, 'access-control-request-method': 'GET' };
      t.deepEqual(corsHeadersOf(await send(platform.origin + path, { method, headers })), {}, path);
    }
  }
});

test('metadata and keys can be read from any origin', async (t) => {
  const { platform } = await started();
  for (const path of ['/.well-known/oauth-authorization-server', '/oauth/jwks']) {
    const answer = await send(platform.origin + path, { headers: { origin: EVIL } });
    t.deepEqual(corsHeadersOf(answer), { 'access-control-allow-origin': EVIL }, path);
  }
});

test('CORS headers of the host are not changed', async (t) => {
  const cors = {
    'access-control-allow-origin': 'https://of-the-host.example',
    'access-control-max-age': '5',
  };
  await using hosted = await startPlatform(
    {},
    {
      before: [
        async (ctx, next) => {
          ctx.set(cors);
          await next();
        },
      ],
    },
  );
  for (const path of ['/oauth/token', '/oauth/revoke']) {
    const url = hosted.origin + path;
    t.deepEqual(corsHeadersOf(await postForm(url, { token: 'x' }, { origin: EVIL })), cors);
    const headers = { origin: EVIL, 'access-control-request-method': 'POST' };
    t.deepEqual(corsHeadersOf(await send(url, { method: 'OPTIONS', headers })), cors);
  }
});
