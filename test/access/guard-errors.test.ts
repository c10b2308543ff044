/** What the guard of an API refuses whatever the token is: a row is one wrong request, of which no signature is checked. */
import { once } from 'node:events';
import { get } from 'node:http';

import test from '../harness/test.ts';

import { request } from '../harness/requests.ts';
import { serveApp } from '../harness/serve.ts';
import { shared } from '../harness/shared.ts';
import { createPlatform, ISSUER } from './platform.ts';

const started = shared(async (stack) => {
  const platform = createPlatform();
  const url = await serveApp(stack, platform.guard(), (ctx) => (ctx.body = {}));
  const token = await platform.userToken();
  // It is a good one.
  await request(url, token);
  return { platform, token, url };
});

const MISSING = 'An access token is required. Send it in the header field Authorization: Bearer.';

const WITHOUT_TOKEN: readonly (string | undefined)[] = [
  undefined,
  'Basic YW5uOnNlY3JldA==',
  'Digest x',
  'Bearerx y',
  '',
];

for (const [index, authorization] of WITHOUT_TOKEN.entries()) {
  // A challenge without an error (RFC 6750 section 3.1).
  test(`guard, no token ${index + 1}: ${authorization}`, async (t) => {
    const { platform, url } = await started();
    const before = platform.counts.verify;
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const { status, body, type, headers: received } = await request(url, undefined, { headers });
    t.is(status, 401);
    t.is(received.get('www-authenticate'), `Bearer realm="${ISSUER}"`);
    t.is(received.get('cache-control'), 'no-store');
    t.is(received.get('x-content-type-options'), 'nosniff');
    t.is(type, 'application/problem+json; charset=utf-8');
    t.deepEqual(body, {
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: MISSING,
      code: 'token_missing',
      message: MISSING,
    });
    t.is(platform.counts.verify, before);
  });
}

const MALFORMED: readonly (readonly [title: string, authorization: (token: string) => string])[] = [
  ['nothing', () => 'Bearer'],
  ['one part', () => 'Bearer x'],
  ['two parts', () => 'Bearer x.y'],
  ['five parts', () => 'Bearer x.y.z.z.z'],
  ['two blanks', (token) => `Bearer  ${token}`],
  ['two tokens', (token) => `Bearer ${token} ${token}`],
  ['two credentials', (token) => `Bearer ${token}, Bearer ${token}`],
  ['quotes', (token) => `Bearer "${token}"`],
  ['an equals sign', (token) => `Bearer ${token}=`],
  ['a letter that is not ASCII', (token) => `Bearer ${token}\u00e9`],
  ['12,000 characters', () => `Bearer ${'a'.repeat(12_000)}`],
  ['6000 parts', () => `Bearer ${'a.'.repeat(6000)}`],
  ['long parts', () => `Bearer ${'a'.repeat(5000)}.${'b'.repeat(5000)}.c`],
];

for (const [title, authorization] of MALFORMED) {
  test(`guard, Bearer with ${title}`, async (t) => {
    const { platform, token, url } = await started();
    const before = platform.counts.verify;
    const { status, body, headers } = await request(url, undefined, {
      headers: { authorization: authorization(token) },
    });
    t.is(status, 401);
    t.is(body['code'], 'token_malformed');
    t.is(
      headers.get('www-authenticate'),
      `Bearer realm="${ISSUER}", error="invalid_token", error_description="${String(body['detail'])}"`,
    );
    t.is(platform.counts.verify, before);
  });
}

test('guard, two Authorization fields of which one has a good token', async (t) => {
  const { token, url } = await started();
  const headers = ['Authorization', `Bearer ${token}`, 'authorization', 'Bearer x.y.z', 'Host', 'x'];
  const [response] = await once(get(url, { headers }), 'response');
  response.resume();
  t.is(response.statusCode, 401);
  t.is(
    response.headers['www-authenticate'],
    `Bearer realm="${ISSUER}", error="invalid_request", error_description="Send one Authorization header field."`,
  );
});

for (const [title, inHeader] of [
  ['alone', false],
  ['beside one in the header', true],
] as const) {
  // RFC 9700 section 4.3.2.
  test(`guard, a token in the URL, ${title}`, async (t) => {
    const { token, url } = await started();
    const given = inHeader ? token : undefined;
    const { status, body, headers } = await request(`${url}/?page=1&access_token=${token}`, given);
    t.is(status, 401);
    t.is(body['code'], 'token_misplaced');
    t.regex(headers.get('www-authenticate') ?? '', /error="invalid_request"/);
  });
}

test('guard, a token in the body', async (t) => {
  const { token, url } = await started();
  const body = new URLSearchParams({ access_token: token });
  const answer = await request(url, undefined, { method: 'POST', body });
  t.like(answer, { status: 401, body: { code: 'token_missing' } });
});
