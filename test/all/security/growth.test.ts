import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';

import { authorizeUrl } from '../../harness/platform.ts';
import { basic } from '../../harness/requests.ts';
import { asClient } from '../../harness/tokens.ts';
import { startWholeServer } from '../../security/whole-server.ts';

type Server = Awaited<ReturnType<typeof startWholeServer>>;

/** A request with an input of about this length, in bytes. */
interface Input {
  readonly name: string;
  /** The length that the server accepts, or with which the input is large. */
  readonly most: number;
  readonly make: (length: number) => readonly [path: string, init?: RequestInit];
}

const HEADER = 15_000;
const PAGE_FORM = 16_000;
const BODY = 56_000;
const UPLOAD = 64_000;

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'content-type': 'application/json' };
const MULTIPART = { 'content-type': 'multipart/form-data; boundary=b' };

/** What a parser may read again for each of its repetitions. */
const TEXTS = [
  'a',
  ' ',
  'a ',
  'a,',
  'a;',
  'a;q=0.1,',
  'a=b;',
  '"',
  '\\"',
  '\\',
  '(',
  '[',
  '%61',
  'a.',
  '/',
  '-',
];

function filled(text: string, length: number): string {
  return text.repeat(Math.ceil(length / text.length));
}

function numbered(make: (index: number) => string, length: number): string {
  return Array.from({ length: Math.ceil(length / make(10_000).length) }, (_, index) => make(index)).join('');
}

/** The parameter with each of the texts. */
function valuesOf(path: string, name: string, most = HEADER): Input[] {
  return TEXTS.map((text) => ({
    name: `${path}${name}=${text}`,
    most,
    make: (length) => [`${path}${name}=${encodeURIComponent(filled(text, length / 3))}`],
  }));
}

function headersOf(path: string, name: string, before = '', init: RequestInit = {}): Input[] {
  return TEXTS.map((text) => ({
    name: `${name}: ${before}${text} at ${path}`,
    most: HEADER,
    make: (length) => [
      path,
      { ...init, headers: { ...(init.headers as object), [name]: `${before}${filled(text, length)}x` } },
    ],
  }));
}

function bodiesOf(
  path: string,
  headers: Record<string, string>,
  most: number,
  bodies: Record<string, (length: number) => string>,
): Input[] {
  return Object.entries(bodies).map(([name, make]) => ({
    name: `${name} at ${path}`,
    most,
    make: (length) => [path, { method: 'POST', headers, body: make(length) }],
  }));
}

/** Forms with many fields, and with long values of one field. */
function formsOf(name: string, fields = ''): Record<string, (length: number) => string> {
  return {
    'one name': (length) => fields + filled('&a=', length),
    'different names': (length) => fields + numbered((index) => `&a${index}=`, length),
    'nested names': (length) => `${fields}&a${filled('[b]', length)}=1`,
    'a list': (length) => fields + filled('&a[]=1', length),
    ...Object.fromEntries(
      TEXTS.map((text) => [
        `${name}=${text}`,
        (length: number) => `${fields}&${name}=${filled(encodeURIComponent(text), length)}`,
      ]),
    ),
  };
}

function jsonOf(before: string, after: string): Record<string, (length: number) => string> {
  return {
    'nested lists': (length) => before + filled('[', length / 2) + filled(']', length / 2) + after,
    'nested objects': (length) => before + filled('{"a":', length) + after,
    'different members': (length) =>
      `${before}{${numbered((index) => `"a${index}":1,`, length)}"b":1}${after}`,
    'one member': (length) => `${before}{${filled('"a":1,', length)}"a":1}${after}`,
    'a list': (length) => `${before}[${filled('1,', length)}1]${after}`,
    'a number': (length) => before + filled('1', length) + after,
    ...Object.fromEntries(
      TEXTS.map((text) => [
        `a text of ${text}`,
        (length: number) => before + JSON.stringify(filled(text, length)) + after,
      ]),
    ),
  };
}

function part(header: string, content: string): string {
  return `--b\r\n${header}\r\n\r\n${content}\r\n--b--\r\n`;
}

function multipartOf(): Record<string, (length: number) => string> {
  const head = 'Content-Disposition: form-data; name="logo"; filename="a.png"';
  return {
    'many parts': (length) =>
      numbered((index) => `--b\r\nContent-Disposition: form-data; name="a${index}"\r\n\r\n\r\n`, length),
    'many files of one field': (length) => `${filled(`--b\r\n${head}\r\n\r\n\r\n`, length)}--b--\r\n`,
    'many header fields': (length) => part(head + filled('\r\nA: b', length), 'x'),
    'a long header field': (length) => part(`${head}\r\nA: ${filled('b', length)}`, 'x'),
    'a long file name': (length) => part(`${head.slice(0, -1)}${filled('a', length)}"`, 'x'),
    'many parameters': (length) => part(head + filled('; a="b"', length), 'x'),
    'quotes in a file name': (length) => part(`${head.slice(0, -1)}${filled('\\"', length)}"`, 'x'),
    'line ends': (length) => part(head, filled('\r\n', length)),
    'beginnings of boundaries': (length) => part(head, filled('\r\n--', length)),
    'no end': (length) => `--b\r\n${head}\r\n\r\n${filled('\r\n-', length)}`,
  };
}

async function inputsOf(server: Server): Promise<Input[]> {
  const app = await server.registerApp();
  const owned = await server.registerFor('dora', {
    grantType: 'authorization_code',
    redirectUris: [app.redirectUri],
  });
  const service = await server.registerService(['edit_schools'] as never);
  const cookie = (await server.signInAs('dora')).cookieField;
  const { access_token: token } = (
    await server.token({ grant_type: 'client_credentials', ...asClient(service) })
  ).body;
  const page = { cookie, 'sec-fetch-site': 'same-origin' };
  const bearer = { authorization: `Bearer ${token}` };
  const client = basic(service.client.id, service.secret);
  const { search } = authorizeUrl(server, app);
  const action = '/api/v1/actions/school/create-school-action';
  const ofAuthorization = [
    'scope',
    'ui_locales',
    'claims',
    'resource',
    'prompt',
    'acr_values',
    'login_hint',
    'nonce',
  ];
  const asked = { method: 'POST', headers: { ...FORM }, body: 'a=b' };
  return [
    ...ofAuthorization.flatMap((name) => valuesOf(`/oauth/authorize${search}&scope2=&`, name)),
    ...['client_id', 'redirect_uri', 'state', 'code_challenge'].flatMap((name) =>
      valuesOf('/oauth/authorize?', name),
    ),
    ...['return_to', 'ui_locales'].flatMap((name) => valuesOf('/oauth/login?', name)),
    ...['id_token_hint', 'client_id', 'post_logout_redirect_uri'].flatMap((name) =>
      valuesOf('/oauth/logout?', name),
    ),
    ...valuesOf('/oauth/device?', 'user_code'),
    ...['/oauth/interaction/', '/oauth/register/', '/oauth/', '/api/v1/actions/', '/api/v1/', '/'].flatMap(
      (path) =>
        TEXTS.map((text): Input => ({
          name: path + text,
          most: HEADER,
          make: (length) => [path + filled(encodeURI(text).replaceAll('[', '%5B'), length)],
        })),
    ),
    ...headersOf('/mcp', 'accept', '', { headers: bearer }),
    ...headersOf(`${action}/bulk`, 'accept', '', {
      method: 'POST',
      headers: { ...bearer, ...JSON_TYPE },
      body: '{"items":[{"input":{"name":"A"}}]}',
    }),
    ...headersOf('/api/v1/docs/viewer.css', 'accept-encoding'),
    ...headersOf('/api/v1/docs/viewer.css', 'if-none-match'),
    ...headersOf('/oauth/login', 'accept-language'),
    ...headersOf('/oauth/login', 'cookie'),
    ...headersOf('/oauth/login', 'cookie', `${cookie}; `),
    ...headersOf('/oauth/login', 'cookie', 'gatehouse_session='),
    ...headersOf('/oauth/login', 'cookie', 'gatehouse_device=', {
      method: 'POST',
      headers: FORM,
      body: 'login=a&password=b',
    }),
    ...headersOf('/oauth/login', 'x-forwarded-for', '192.0.2.1, '),
    ...headersOf('/oauth/login', 'x-forwarded-host', 'a, '),
    ...headersOf('/oauth/login', 'x-request-id'),
    ...headersOf('/oauth/login', 'referer', 'https://a.example/', asked),
    ...headersOf('/oauth/token', 'origin', 'https://a.example/', asked),
    ...headersOf('/oauth/device_authorization', 'user-agent', '', {
      method: 'POST',
      headers: { ...client, ...FORM },
      body: '',
    }),
    ...['/oauth/userinfo', '/api/v1/identity', '/mcp'].flatMap((path) =>
      headersOf(path, 'authorization', 'Bearer '),
    ),
    ...['/oauth/token', '/oauth/introspect'].flatMap((path) =>
      headersOf(path, 'authorization', 'Basic ', asked),
    ),
    ...['/oauth/token', '/oauth/login', '/api/v1/uploads'].flatMap((path) =>
      headersOf(path, 'content-type', 'multipart/form-data; boundary=', {
        method: 'POST',
        headers: bearer,
        body: 'a',
      }),
    ),
    ...headersOf(action, 'idempotency-key', '"', {
      method: 'POST',
      headers: { ...bearer, ...JSON_TYPE },
      body: '{"name":"A"}',
    }),
    ...[
      'scope',
      'resource',
      'code',
      'refresh_token',
      'client_assertion',
      'code_verifier',
      'grant_type',
    ].flatMap((name) =>
      bodiesOf('/oauth/token', { ...client, ...FORM }, BODY, formsOf(name, 'grant_type=client_credentials')),
    ),
    ...['/oauth/introspect', '/oauth/revoke'].flatMap((path) =>
      bodiesOf(path, { ...client, ...FORM }, BODY, formsOf('token')),
    ),
    ...bodiesOf('/oauth/device_authorization', { ...client, ...FORM }, BODY, formsOf('scope')),
    ...bodiesOf('/oauth/userinfo', FORM, PAGE_FORM, formsOf('access_token')),
    ...bodiesOf('/oauth/authorize', FORM, PAGE_FORM, formsOf('scope', search.slice(1))),
    ...bodiesOf('/oauth/logout', FORM, PAGE_FORM, formsOf('id_token_hint')),
    ...bodiesOf('/oauth/login', { ...FORM, ...page }, PAGE_FORM, formsOf('login', 'password=a')),
    ...bodiesOf('/oauth/device', { ...FORM, ...page }, PAGE_FORM, formsOf('user_code')),
    ...bodiesOf(
      '/developer/apps/new',
      { ...FORM, ...page },
      PAGE_FORM,
      formsOf('redirectUris', 'name=a&grantType=authorization_code'),
    ),
    ...bodiesOf(`/developer/apps/${owned.client.id}/logo`, { ...MULTIPART, ...page }, UPLOAD, multipartOf()),
    ...bodiesOf('/oauth/token', JSON_TYPE, BODY, jsonOf('{"grant_type":', '}')),
    ...['redirect_uris', 'scope', 'client_name', 'jwks', 'contacts'].flatMap((name) =>
      bodiesOf(
        '/oauth/register',
        JSON_TYPE,
        BODY,
        jsonOf(`{"redirect_uris":["https://a.example/"],"${name}":`, '}'),
      ),
    ),
    ...bodiesOf(action, { ...JSON_TYPE, ...bearer }, BODY, jsonOf('{"name":', '}')),
    ...bodiesOf(`${action}/bulk`, { ...JSON_TYPE, ...bearer }, UPLOAD, jsonOf('{"items":', '}')),
    ...bodiesOf(
      '/mcp',
      { ...JSON_TYPE, ...bearer },
      BODY,
      jsonOf('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":', '}'),
    ),
    ...bodiesOf('/api/v1/uploads', { ...JSON_TYPE, ...bearer }, BODY, jsonOf('', '')),
    ...bodiesOf('/api/v1/uploads', { ...FORM, ...bearer }, BODY, formsOf('b')),
    ...bodiesOf('/api/v1/uploads', { ...MULTIPART, ...bearer }, UPLOAD, multipartOf()),
  ];
}

/** In milliseconds. What a request with less costs does not have to grow in proportion. */
const LITTLE = 20;

const TRIES = 5;

const ROUNDS = 3;

test.serial('no input costs the square of its length', async (t) => {
  t.timeout(300_000);
  const server = await startWholeServer(t);
  const inputs = await inputsOf(server);
  t.true(inputs.length > 1000);
  for (const input of inputs) t.is(await growthOf(t, server, input), undefined);
});

// SECURITY.md says what the routes of a host have to do for that, and has to be changed with Koa.
test.serial('that of Koa’s own query is found', async (t) => {
  const server = await startWholeServer(t);
  const found = await growthOf(t, server, {
    name: 'query',
    most: 6000,
    make: (length) => [`/own/query?${filled('a&', length)}`],
  });
  t.regex(found ?? '', /^query: /);
});

/** What is wrong with an input. `undefined`: it costs little, or in proportion to its length. */
async function growthOf(
  t: ExecutionContext,
  server: Server,
  { make, most, name }: Input,
): Promise<string | undefined> {
  let found: string | undefined;
  // What grows with the square does so each time, a machine that is busy for some seconds does not.
  for (let round = 0; round < ROUNDS; round += 1) {
    const cost = await least(async () => costOf(t, server, make(most)), LITTLE);
    if (cost < LITTLE) return undefined;
    const ofQuarter = await least(async () => costOf(t, server, make(most / 4)), 0);
    // In proportion it is four times, and with the square sixteen times.
    if (cost < 7 * ofQuarter) return undefined;
    found = `${name}: ${ofQuarter.toFixed(1)} and ${cost.toFixed(1)} ms`;
  }
  return found;
}

/** The least of several costs: a busy machine makes single ones larger. @param enough - one that is smaller ends the search */
async function least(measure: () => Promise<number>, enough: number): Promise<number> {
  let cost = Infinity;
  for (let attempt = 0; attempt < TRIES && cost >= enough; attempt += 1)
    cost = Math.min(cost, await measure());
  return cost;
}

async function costOf(
  t: ExecutionContext,
  server: Server,
  [path, init]: ReturnType<Input['make']>,
): Promise<number> {
  const before = process.threadCpuUsage();
  const response = await fetch(server.origin + path, { redirect: 'manual', ...init });
  await response.arrayBuffer();
  const { system, user } = process.threadCpuUsage(before);
  t.true(response.status < 500, `${path.slice(0, 100)}: ${response.status}`);
  return (user + system) / 1000;
}
