/** What the token endpoint refuses: a row is one wrong request, with the status, the error and the description of its answer. */
import { gzipSync } from 'node:zlib';

import test from '../harness/test.ts';

import { basic, postForm, postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { altered } from '../harness/tokens.ts';
import {
  FORM,
  outline,
  startTokenPlatform,
  UNAUTHENTICATED,
  WITHOUT_AUTHENTICATION,
} from './token-platform.ts';
import type { TokenPlatform } from './token-platform.ts';

const started = shared(async (stack) => stack.use(await startTokenPlatform()));

type Fields = Readonly<Record<string, string>>;
type Row<Request> = readonly [
  title: string,
  request: (server: TokenPlatform) => Request,
  status: number,
  error: string,
  /** `undefined`: any. */
  description: string | undefined,
  more?: object,
];

const UNAUTHORIZED = [400, 'unauthorized_client', 'this client may not use this grant type'] as const;
const REFUSED = [400, 'invalid_grant', 'grant request is invalid'] as const;

const CLIENT_CREDENTIALS = { grant_type: 'client_credentials' };
const REFRESH = { grant_type: 'refresh_token' };

function withCode({ app }: TokenPlatform): Fields {
  return { grant_type: 'authorization_code', redirect_uri: app.redirectUri, code: 'x' };
}

/** A secret that is almost that of the service. */
function wrongSecret(
  title: string,
  secretOf: (secret: string, server: TokenPlatform) => string,
): Row<Fields> {
  return [
    title,
    (server) => ({
      ...CLIENT_CREDENTIALS,
      client_id: server.service.client.id,
      client_secret: secretOf(server.service.secret, server),
    }),
    ...UNAUTHENTICATED,
  ];
}

/** Parameters, which are sent as JSON and as a form. */
const PARAMETERS: readonly Row<Fields>[] = [
  ['no parameters', () => ({}), ...WITHOUT_AUTHENTICATION],
  ['an empty client_id', ({ good }) => ({ ...good, client_id: '' }), ...WITHOUT_AUTHENTICATION],
  ['an unknown client', ({ good }) => ({ ...good, client_id: 'unknown' }), ...UNAUTHENTICATED],
  [
    'a client_id in another case',
    ({ good, service }) => ({ ...good, client_id: service.client.id.toUpperCase() }),
    ...UNAUTHENTICATED,
  ],
  [
    'a disabled client',
    ({ disabled }) => ({
      ...CLIENT_CREDENTIALS,
      client_id: disabled.client.id,
      client_secret: disabled.secret,
    }),
    ...UNAUTHENTICATED,
  ],
  [
    'a secret for a public client',
    ({ good, publicApp }) => ({ ...good, client_id: publicApp.client.id }),
    ...UNAUTHENTICATED,
  ],
  [
    'no secret for a confidential client',
    ({ service }) => ({ ...CLIENT_CREDENTIALS, client_id: service.client.id }),
    ...UNAUTHENTICATED,
  ],
  wrongSecret('an empty secret', () => ''),
  wrongSecret('a wrong secret', () => 'wrong'),
  wrongSecret('an altered secret', altered),
  wrongSecret('a secret in another case', (secret) => secret.toUpperCase()),
  wrongSecret('a secret without its first character', (secret) => secret.slice(1)),
  wrongSecret('a secret without its last character', (secret) => secret.slice(0, -1)),
  wrongSecret('a secret and a NUL', (secret) => `${secret}\u0000`),
  wrongSecret('a secret and a blank', (secret) => `${secret} `),
  wrongSecret('the secret of another client', (_, { other }) => other.secret),
  wrongSecret('a long secret', () => 'x'.repeat(10_000)),
  [
    'no grant_type',
    ({ asService }) => asService,
    400,
    'invalid_request',
    "missing required parameter 'grant_type'",
  ],
  [
    'an empty grant_type',
    ({ asService }) => ({ ...asService, grant_type: '' }),
    400,
    'invalid_request',
    "missing required parameter 'grant_type'",
  ],
  ...['password', 'implicit', 'CLIENT_CREDENTIALS', '__proto__', 'toString'].map((type): Row<Fields> => [
    `grant_type ${type}`,
    ({ good }) => ({ ...good, grant_type: type }),
    400,
    'unsupported_grant_type',
    'unsupported grant_type requested',
  ]),
  ['a code of a service', (server) => ({ ...server.good, ...withCode(server) }), ...UNAUTHORIZED],
  [
    'a refresh token of a service',
    ({ good }) => ({ ...good, ...REFRESH, refresh_token: 'x' }),
    ...UNAUTHORIZED,
  ],
  ['client credentials of an app', ({ asApp }) => ({ ...asApp, ...CLIENT_CREDENTIALS }), ...UNAUTHORIZED],
  [
    'client credentials of a public client',
    ({ publicApp }) => ({ client_id: publicApp.client.id, ...CLIENT_CREDENTIALS }),
    ...UNAUTHORIZED,
  ],
  [
    'no code',
    ({ asApp }) => ({ grant_type: 'authorization_code', ...asApp }),
    400,
    'invalid_request',
    "missing required parameters 'code' and 'redirect_uri'",
  ],
  [
    'no refresh token',
    ({ asApp }) => ({ ...REFRESH, ...asApp }),
    400,
    'invalid_request',
    "missing required parameter 'refresh_token'",
  ],
  ['an unknown code', (server) => ({ ...withCode(server), ...server.asApp }), ...REFUSED],
  ['an unknown refresh token', ({ asApp }) => ({ ...REFRESH, ...asApp, refresh_token: 'x' }), ...REFUSED],
  [
    'a code of any characters',
    (server) => ({
      ...withCode(server),
      ...server.asApp,
      code: 'ä\u0000&=+%\u{1F3EB}',
      redirect_uri: 'x',
    }),
    ...REFUSED,
  ],
  [
    'an unknown scope',
    ({ good }) => ({ ...good, scope: 'unknown' }),
    400,
    'invalid_scope',
    'requested scope is not allowed: unknown',
    { scope: 'unknown' },
  ],
  ...['a"b', 'schools:read\tschools:read', 'schools:read\n', '\u00a0schools:read'].map(
    (scope): Row<Fields> => [
      `scope ${JSON.stringify(scope)}`,
      ({ good }) => ({ ...good, scope }),
      400,
      'invalid_scope',
      'scope contains invalid characters',
    ],
  ),
  [
    'an unknown resource',
    ({ good }) => ({ ...good, resource: 'https://evil.example/' }),
    400,
    'invalid_target',
    'resource indicator is missing, or unknown',
  ],
];

for (const [title, fields, status, error, error_description, more] of PARAMETERS) {
  test(`token endpoint, as JSON and as a form: ${title}`, async (t) => {
    const server = await started();
    const expected = { status, body: { error, error_description, ...more } };
    for (const post of [postJson, postForm]) {
      const answer = await post(server.endpoint, fields(server));
      t.deepEqual(outline(answer), expected);
      t.is(answer.headers.get('www-authenticate'), null);
    }
  });
}

/** Credentials by HTTP Basic, which are answered with a challenge. */
const BY_BASIC: readonly (readonly [
  title: string,
  credentials: (server: TokenPlatform) => readonly [id: string, secret: string],
])[] = [
  ['an unknown client', ({ service }) => ['unknown', service.secret]],
  ['a wrong secret', ({ service }) => [service.client.id, 'wrong']],
  ['a disabled client', ({ disabled }) => [disabled.client.id, disabled.secret]],
  ['a secret for a public client', ({ publicApp }) => [publicApp.client.id, 'x']],
  ['an empty secret', ({ service }) => [service.client.id, '']],
  ['an unknown client with an empty secret', () => ['unknown', '']],
];

for (const [title, credentials] of BY_BASIC) {
  test(`token endpoint, by HTTP Basic: ${title}`, async (t) => {
    const server = await started();
    const [status, error, error_description] = UNAUTHENTICATED;
    const answer = await postForm(server.endpoint, CLIENT_CREDENTIALS, basic(...credentials(server)));
    t.deepEqual(outline(answer), { status, body: { error, error_description } });
    t.is(
      answer.headers.get('www-authenticate'),
      `Basic realm="${server.platform.origin}", error="${error}", error_description="${error_description}"`,
    );
  });
}

/** The begin of a JSON body with which a token would be issued. */
function begin({ service: { client, secret } }: TokenPlatform): string {
  return `{"grant_type":"client_credentials","client_id":"${client.id}","client_secret":"${secret}"`;
}

const NO_JSON = 'The body is not valid JSON.';
const NO_OBJECT = 'The body must be an object of parameters.';
const NO_STRING = 'The parameter scope must be a string.';
const TWICE = 'An object of the body contains a duplicate member.';

const JSON_BODIES: readonly (readonly [body: (server: TokenPlatform) => string, description: string])[] = [
  [() => '', WITHOUT_AUTHENTICATION[2]],
  [() => '{', NO_JSON],
  [(server) => `${begin(server)},}`, NO_JSON],
  [(server) => `${begin(server)}}{}`, NO_JSON],
  [({ goodForm }) => goodForm, NO_JSON],
  [() => 'null', NO_OBJECT],
  [() => '"x"', NO_OBJECT],
  [() => '[]', NO_OBJECT],
  [(server) => `${begin(server)},"scope":1.5}`, NO_STRING],
  [(server) => `${begin(server)},"scope":1e400}`, NO_STRING],
  [(server) => `${begin(server)},"scope":["schools:read"]}`, NO_STRING],
  [(server) => `${begin(server)},"scope":true}`, NO_STRING],
  [
    (server) => `${begin(server)},"resource":["${server.platform.origin}"]}`,
    'The parameter resource must be a string.',
  ],
  [(server) => `${begin(server)},"x":{"y":1,"y":2}}`, TWICE],
  [(server) => `${begin(server)},"client_secret":"wrong"}`, TWICE],
  [(server) => `${begin(server)},"clien\\u0074_secret":"${server.service.secret}"}`, TWICE],
  [(server) => `${begin(server)},"__proto__":"x","__proto__":"x"}`, TWICE],
];

/** Sends a body of a type. */
async function sendAs(
  { endpoint }: TokenPlatform,
  type: string,
  body: string | Uint8Array<ArrayBuffer>,
  more: Fields = {},
): Promise<Answer> {
  return send(endpoint, { method: 'POST', body, headers: { 'content-type': type, ...more } });
}

/** A good request with one more parameter, which it has already. */
function repeated(parameter: string, value: (server: TokenPlatform) => string): Row<Promise<Answer>> {
  return [
    `two parameters ${parameter}`,
    async (server) => postForm(server.endpoint, `${server.goodForm}&${parameter}=${value(server)}`),
    400,
    'invalid_request',
    `'${parameter}' parameter must not be provided twice`,
  ];
}

const base64 = (value: string): string => Buffer.from(value).toString('base64');

const MALFORMED: readonly (readonly [title: string, field: (id: string, secret: string) => string])[] = [
  ['no credentials', () => 'Basic'],
  ['no base64', () => 'Basic !'],
  ['no colon', () => `Basic ${base64('no colon')}`],
  ['only a colon', () => `Basic ${base64(':')}`],
  ['no client', (_, secret) => `Basic ${base64(`:${secret}`)}`],
  ['a wrong escape', (id) => `Basic ${base64(`${id}:%zz`)}`],
  ['a NUL', (id, secret) => `Basic ${base64(`${id}:${secret}\u0000`)}`],
  ['more than credentials', (id, secret) => `Basic ${base64(`${id}:${secret}`)} x`],
  ['8000 characters', () => `Basic ${base64('x'.repeat(8000))}`],
  ['Bearer', () => 'Bearer x'],
  ['Digest', () => 'Digest x'],
  ['a word', () => 'x'],
  ['no scheme', (id, secret) => base64(`${id}:${secret}`)],
];

const BYTES = Buffer.concat([Buffer.from('{"client_id":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);

const REQUESTS: readonly Row<Promise<Answer>>[] = [
  ...JSON_BODIES.map(([body, description], index): Row<Promise<Answer>> => [
    `JSON body ${index + 1}, ${description}`,
    async (server) => postJson(server.endpoint, body(server)),
    400,
    'invalid_request',
    description,
  ]),
  [
    'a number that is no client',
    async ({ endpoint, good }) => postJson(endpoint, { ...good, client_id: 1 }),
    ...UNAUTHENTICATED,
  ],
  [
    'null as secret',
    async ({ endpoint, good }) => postJson(endpoint, { ...good, client_secret: null }),
    ...UNAUTHENTICATED,
  ],
  [
    'a number that is no refresh token',
    async ({ asApp, endpoint }) => postJson(endpoint, { ...REFRESH, ...asApp, refresh_token: 12_345 }),
    ...REFUSED,
  ],
  repeated('client_id', () => 'x'),
  repeated('client_secret', ({ service }) => service.secret),
  repeated('grant_type', () => 'client_credentials'),
  repeated('scope', () => '&scope='),
  repeated('scope', () => 'schools:read&scope=schools:read'),
  ...[
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/json-patch+json',
    'application/x-www-form-urlencoded-not',
    '*/*',
    ';',
  ].map((type): Row<Promise<Answer>> => [
    `a body of the type ${type}`,
    async (server) => sendAs(server, type, server.goodForm),
    400,
    'invalid_request',
    `Send the body as ${FORM} or application/json.`,
  ]),
  ...[FORM, 'application/json'].map((type): Row<Promise<Answer>> => [
    `bytes that are not UTF-8, as ${type}`,
    async (server) => sendAs(server, type, BYTES),
    400,
    'invalid_request',
    'The body is not UTF-8.',
  ]),
  ...['gzip', 'br', 'x', 'gzip, gzip'].map((encoding): Row<Promise<Answer>> => [
    `a body with the encoding ${encoding}`,
    async (server) => sendAs(server, FORM, gzipSync(server.goodForm), { 'content-encoding': encoding }),
    400,
    'invalid_request',
    'The body must not be compressed.',
  ]),
  ...MALFORMED.map(([title, field]): Row<Promise<Answer>> => [
    `the header field Authorization with ${title}`,
    async ({ endpoint, service }) =>
      postForm(endpoint, CLIENT_CREDENTIALS, { authorization: field(service.client.id, service.secret) }),
    400,
    'invalid_request',
    undefined,
  ]),
  ...[postForm, postJson].flatMap((post): Row<Promise<Answer>>[] => [
    [
      `two client authentications, ${post.name}`,
      async ({ endpoint, good, service }) => post(endpoint, good, basic(service.client.id, service.secret)),
      400,
      'invalid_request',
      'client authentication must only be provided using one mechanism',
    ],
    [
      `two clients, ${post.name}`,
      async ({ app, endpoint, service }) =>
        post(
          endpoint,
          { ...CLIENT_CREDENTIALS, client_id: app.client.id },
          basic(service.client.id, service.secret),
        ),
      400,
      'invalid_request',
      'client_id mismatch',
    ],
  ]),
  [
    'another client than that of HTTP Basic without a secret',
    async (server) =>
      postForm(
        server.endpoint,
        { ...withCode(server), client_id: server.service.client.id },
        { authorization: `Basic ${base64(`${server.publicApp.client.id}:`)}` },
      ),
    400,
    'invalid_request',
    "'client_id' parameter must not be provided twice",
  ],
  [
    'credentials in the URL',
    async ({ endpoint, goodForm }) => send(`${endpoint}?${goodForm}`, { method: 'POST' }),
    ...WITHOUT_AUTHENTICATION,
  ],
  ...['GET', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'].map((method): Row<Promise<Answer>> => [
    `the method ${method}`,
    async ({ endpoint, goodForm }) =>
      send(`${endpoint}?${goodForm}`, {
        method,
        body: method === 'GET' ? null : goodForm,
        headers: { 'content-type': FORM },
      }),
    405,
    'invalid_request',
    'the token endpoint takes POST requests only',
  ]),
];

for (const [index, [title, request, status, error, error_description]] of REQUESTS.entries()) {
  test(`token endpoint, request ${index + 1}: ${title}`, async (t) => {
    const answer = await request(await started());
    t.like(answer, { status, body: { error } });
    if (error_description !== undefined) t.deepEqual(answer.body, { error, error_description });
    t.is(answer.headers.get('cache-control'), 'no-store');
    if (status === 405) t.is(answer.headers.get('allow'), 'POST, OPTIONS');
  });
}
