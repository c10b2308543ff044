import test from 'ava';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, connect, startPlatform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';

// The same requests every time; another SEED in the environment makes others, and a failure names it.
const SEED = Number(process.env['SEED'] ?? 1);

const platform = await startPlatform({ throttling: false });
const app = await platform.registerApp({ firstParty: true });
const browser = new Browser();
const { body } = await connect(platform, app, { browser });
const code = (await authorize(platform, app, { browser })).get('code')!;
const cookies = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
test.after.always(() => platform[Symbol.asyncDispose]());

/** Random numbers that the seed determines (mulberry32). */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

const roll = dice(SEED);
const pick = <T>(from: readonly T[]): T => from[roll(from.length)]!;

const ODD = [
  '',
  ' ',
  '\u0000',
  '\u202e',
  '%',
  '%00',
  '%ff',
  '%u0041',
  '__proto__',
  'constructor',
  '[object Object]',
  '[]',
  '{}',
  'null',
  'undefined',
  'NaN',
  '-1',
  '1e999',
  '../../etc/passwd',
  "' or 1=1 --",
  '"><script>alert(1)</script>',
  '\r\nX-Injected: yes',
  'a'.repeat(3000),
  '.'.repeat(300),
  '😀',
  '\ud800',
  'a b  c',
  'https://evil.example/',
  'javascript:alert(1)',
];
const KNOWN = [
  app.client.id,
  app.secret,
  app.redirectUri,
  code,
  body.access_token,
  body.refresh_token,
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:device_code',
  'code',
  'schools:read',
  'S256',
  'none',
  'login',
  'access_token',
  platform.origin,
];
const NAMES = [
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'grant_type',
  'code',
  'code_verifier',
  'code_challenge',
  'code_challenge_method',
  'redirect_uri',
  'refresh_token',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'prompt',
  'max_age',
  'nonce',
  'claims',
  'id_token_hint',
  'login_hint',
  'resource',
  'request',
  'request_uri',
  'registration',
  'authorization_details',
  'dpop_jkt',
  'ui_locales',
  'display',
  'token',
  'token_type_hint',
  '__proto__',
  'constructor',
  'a[b]',
  '',
];

/** A value: what belongs there, something else that is known, something odd, or a broken mixture. */
function mutate(value: string): string {
  const at = roll(value.length + 1);
  switch (roll(8)) {
    case 0:
      return pick(ODD);
    case 1:
      return pick(KNOWN);
    case 2:
      return value.slice(0, at);
    case 3:
      return value.slice(0, at) + pick(ODD) + value.slice(at);
    default:
      return value;
  }
}

function parametersFrom(good: Readonly<Record<string, string>>): [string, string][] {
  const entries = Object.entries(good)
    .filter(() => roll(12) > 0)
    .map(([name, value]): [string, string] => [name, mutate(value)]);
  for (let more = roll(4); more > 0; more -= 1) entries.push([pick(NAMES), pick([...ODD, ...KNOWN])]);
  return entries;
}

function jsonOf(entries: readonly [string, string][]): string {
  const odd = ['null', 'true', '1', '1.5', '[]', '["x"]', '{}', '{"a":"b"}', '', '"', '\\'];
  const members = entries.map(([name, value]) => {
    const json = roll(15) === 0 ? pick(odd) : JSON.stringify(value);
    return `${JSON.stringify(name)}:${json}`;
  });
  const text = `{${members.join(',')}}`;
  return roll(20) === 0 ? text.slice(0, roll(text.length)) : text;
}

function headersOf(type: string): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': roll(25) === 0 ? pick(['text/plain', 'x']) : type,
  };
  if (roll(8) === 0) {
    const value = Buffer.from(`${mutate(app.client.id)}:${mutate(app.secret)}`).toString('base64');
    headers['authorization'] = pick(['Basic ', 'basic ', 'Bearer ', '']) + value;
  }
  if (roll(8) === 0) headers['accept'] = pick(['text/html', '*/*', 'application/json', 'x']);
  if (roll(8) === 0)
    headers['origin'] = pick(['https://reports.example', 'https://evil.example', 'null', 'x']);
  if (roll(8) === 0) headers['cookie'] = pick([cookies, mutateHeader(cookies)]);
  return headers;
}

function mutateHeader(value: string): string {
  return mutate(value).replaceAll(/[^\x20-\x7e]/g, '?');
}

function oddPart(): string {
  return encodeURIComponent(pick(ODD).toWellFormed());
}

async function inBatches(count: number, one: () => Promise<void>): Promise<void> {
  for (let done = 0; done < count; done += 20) await Promise.all(Array.from({ length: 20 }, one));
}

function isHarmless({ status, headers, text }: Answer): boolean {
  return (
    status < 500 &&
    !headers.has('x-injected') &&
    !/\bat .*\.(ts|js):\d+|TypeError|ReferenceError|SQLITE|<script>alert/.test(text)
  );
}

test.serial('the authorization endpoint never breaks, and never leads elsewhere', async (t) => {
  const good = Object.fromEntries(authorizeUrl(platform, app).searchParams);
  await inBatches(500, async () => {
    const url = new URL('/oauth/authorize', platform.origin);
    for (const [name, value] of parametersFrom(good)) url.searchParams.append(name, value);
    const answer = await send(url, { headers: headersOf('x') });
    t.true(isHarmless(answer), `SEED=${SEED} ${answer.status} ${url.href}`);
    t.true([200, 303, 400].includes(answer.status), `SEED=${SEED} ${answer.status} ${url.href}`);
    const location = answer.headers.get('location');
    const origin = location === null ? platform.origin : new URL(location, platform.origin).origin;
    t.true(
      origin === platform.origin || origin === 'https://reports.example',
      `SEED=${SEED} ${url.href} -> ${location}`,
    );
  });
});

test.serial('the endpoints for clients never break, and answer in JSON', async (t) => {
  const good = { client_id: app.client.id, client_secret: app.secret };
  const requests = {
    '/oauth/token': [
      { ...good, grant_type: 'refresh_token', refresh_token: body.refresh_token, scope: '' },
      { ...good, grant_type: 'authorization_code', code, redirect_uri: app.redirectUri },
      { ...good, grant_type: 'client_credentials', scope: 'schools:read' },
    ],
    '/oauth/revoke': [{ ...good, token: 'x', token_type_hint: 'access_token' }],
    '/oauth/introspect': [{ ...good, token: body.access_token, token_type_hint: 'refresh_token' }],
  };
  const paths = ['/oauth/token', '/oauth/token', '/oauth/revoke', '/oauth/introspect'] as const;
  await inBatches(800, async () => {
    const path = pick(paths);
    const entries = parametersFrom(pick<Record<string, string>>(requests[path]));
    const isJson = roll(2) === 0;
    const sent = isJson ? jsonOf(entries) : new URLSearchParams(entries).toString();
    const headers = headersOf(isJson ? 'application/json' : 'application/x-www-form-urlencoded');
    const answer = await send(platform.origin + path, { method: 'POST', body: sent, headers });
    const what = `SEED=${SEED} ${answer.status} ${path} ${sent} ${JSON.stringify(headers)} ${answer.text}`;
    t.true(isHarmless(answer), what);
    t.true([200, 400, 401].includes(answer.status), what);
    t.is(typeof answer.body, 'object', what);
    if (answer.status === 200) t.false('error' in answer.body!, what);
    else t.regex(String(answer.body!['error']), /^[a-z_]+$/, what);
  });
});

test.serial('the pages and the guard never break', async (t) => {
  const uids = browser.cookies.map(({ path }) => path);
  await inBatches(300, async () => {
    const path = pick([
      `/oauth/interaction/${oddPart()}`,
      `/oauth/authorize/${oddPart()}`,
      `/oauth/logout?${oddPart()}`,
      `/oauth/assets/${oddPart()}/${oddPart()}`,
      pick(uids),
      '/api/v1/identity',
    ]);
    const headers: Record<string, string> = {
      cookie: mutateHeader(cookies),
      authorization: `Bearer ${mutateHeader(body.access_token)}`,
    };
    const method = pick(['GET', 'GET', 'POST', 'HEAD', 'DELETE']);
    const answer = await send(platform.origin + path, { method, headers });
    t.true(isHarmless(answer), `SEED=${SEED} ${answer.status} ${method} ${path} ${JSON.stringify(headers)}`);
  });
});

test.serial('none of it was a fault of the server', (t) => {
  t.deepEqual(
    platform.logger.lines.filter(({ level }) => level === 'error'),
    [],
    `SEED=${SEED}`,
  );
});
