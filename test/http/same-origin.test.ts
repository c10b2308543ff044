import test from '../harness/test.ts';
import type { Context } from 'koa';
import { GatehouseError } from '../../lib/errors.ts';
import { requireSameOrigin } from '../../lib/http/headers.ts';
import { serveApp } from '../harness/serve.ts';

const ORIGIN = 'https://platform.example';

function answer(ctx: Context): void {
  try {
    requireSameOrigin(ctx, ORIGIN);
    ctx.body = 'passed';
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    ctx.status = error.status;
    ctx.body = `${error.code}: ${error.message}`;
  }
}

const passes: Record<string, Record<string, string>> = {
  'the page itself': { 'sec-fetch-site': 'same-origin', cookie: 'a=b' },
  'the page itself, on another address of the server': {
    'sec-fetch-site': 'same-origin',
    origin: 'http://localhost:3000',
    cookie: 'a=b',
  },
  'a reload by the user': { 'sec-fetch-site': 'none', cookie: 'a=b' },
  'a browser without Sec-Fetch-Site': { origin: ORIGIN, cookie: 'a=b' },
  'a browser that only sends Referer': { referer: `${ORIGIN}/oauth/interaction/x`, cookie: 'a=b' },
  'a program': { cookie: 'a=b' },
  'a program without cookies': {},
};

const refused: Record<string, Record<string, string>> = {
  'another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', cookie: 'a=b' },
  'another site without cookies': { 'sec-fetch-site': 'cross-site' },
  'a sister domain': { 'sec-fetch-site': 'same-site', cookie: 'a=b' },
  'another site that claims our origin': { 'sec-fetch-site': 'cross-site', origin: ORIGIN },
  'an unknown kind of site': { 'sec-fetch-site': 'same-origin, cross-site' },
  'another origin': { origin: 'https://evil.example', cookie: 'a=b' },
  'an origin that begins like ours': { origin: `${ORIGIN}.evil.example` },
  'another port': { origin: `${ORIGIN}:8443` },
  'plain http': { origin: 'http://platform.example' },
  'a sandboxed frame': { origin: 'null', cookie: 'a=b' },
  'another origin with our Referer': { origin: 'https://evil.example', referer: `${ORIGIN}/` },
  'a Referer of another site': { referer: `https://evil.example/?${ORIGIN}/`, cookie: 'a=b' },
  'a Referer that is no URL': { referer: 'platform.example', cookie: 'a=b' },
  'a Host header that agrees with the sender': { host: 'evil.example', origin: 'https://evil.example' },
};

test('a form of another site is refused, whatever its header fields say', async (t) => {
  const url = await serveApp(t, answer);
  const answers = async (headers: Record<string, string>) => {
    const response = await fetch(url, { method: 'POST', headers });
    return [response.status, await response.text()];
  };
  for (const [sender, headers] of Object.entries(passes))
    t.deepEqual(await answers(headers), [200, 'passed'], sender);
  for (const [sender, headers] of Object.entries(refused)) {
    const text = 'ERR_CROSS_SITE: This form was sent from another site.';
    t.deepEqual(await answers(headers), [403, text], sender);
  }
});
