/** What the authorization endpoint refuses: a row is one wrong request, with the error at the client or the page that it leads to. */
import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { shared } from '../harness/shared.ts';

interface Server {
  readonly platform: Platform;
  readonly app: RegisteredApp;
  readonly publicApp: RegisteredApp;
  /** Without scopes. */
  readonly unscoped: RegisteredApp;
  /** With two redirect URIs. */
  readonly two: RegisteredApp;
  readonly disabled: RegisteredApp;
  readonly service: RegisteredApp;
}

/** A browser with a session: without a session errors are shown on a page. */
const signedIn = new Browser();

const OTHER = 'https://reports.example/other';

const started = shared(async (stack): Promise<Server> => {
  const platform = stack.use(await startPlatform());
  await authorize(platform, await platform.registerApp(), { browser: signedIn });
  const disabled = await platform.registerApp();
  await platform.auth.clients.disable(disabled.client.id);
  return {
    platform,
    app: await platform.registerApp(),
    publicApp: await platform.registerApp({ confidential: false }),
    unscoped: await platform.registerApp({ scopes: [] }),
    two: await platform.registerApp({ redirectUris: ['https://reports.example/callback', OTHER] }),
    disabled,
    service: await platform.registerService(),
  };
});

type Changes = Readonly<Record<string, string | undefined>>;

/** The authorization URL of an app with the parameters exactly as given; `undefined` leaves one out. */
function urlWith(platform: Platform, app: RegisteredApp, changes: Changes): URL {
  const url = authorizeUrl(platform, app);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url;
}

/** With a parameter a second time. */
function repeated(url: URL, name: string, value: string): URL {
  url.searchParams.append(name, value);
  return url;
}

type Redirected = readonly [
  title: string,
  url: (server: Server) => URL,
  error: string,
  /** `undefined`: any. */
  description: string | undefined,
  more?: object,
];

const withChanges =
  (changes: Changes, of: 'app' | 'publicApp' | 'unscoped' = 'app'): Redirected[1] =>
  (server) =>
    urlWith(server.platform, server[of], changes);

const NO_TYPE = ['invalid_request', "missing required parameter 'response_type'"] as const;
const PKCE_REQUIRED = [
  'invalid_request',
  'Authorization Server policy requires PKCE to be used for this request',
] as const;
const BOTH = ['app', 'publicApp'] as const;

function unknownScope(scope: string): Redirected {
  const refused = scope.split(' ').at(-1);
  const description = `requested scope is not allowed: ${refused}`;
  return [`scope ${scope}`, withChanges({ scope }), 'invalid_scope', description, { scope: refused }];
}

const { code_challenge: CHALLENGE } = pkce().parameters;
const LONG = 'x'.repeat(42);

const REDIRECTED: readonly Redirected[] = [
  ['no response_type', withChanges({ response_type: undefined }), ...NO_TYPE],
  ['an empty response_type', withChanges({ response_type: '' }), ...NO_TYPE],
  ...['token', 'none', 'code token', 'CODE', '__proto__', 'code code', 'code  code', 'code '].map(
    (type): Redirected => [
      `response_type ${type}`,
      withChanges({ response_type: type }),
      'unsupported_response_type',
      'unsupported response_type requested',
    ],
  ),
  ...(
    [
      ['scope', ''],
      ['response_type', 'token'],
    ] as const
  ).map(([name, value]): Redirected => [
    `two parameters ${name}`,
    ({ app, platform }) => repeated(authorizeUrl(platform, app), name, value),
    'invalid_request',
    `'${name}' parameter must not be provided twice`,
  ]),
  ...['schools:read unknown', 'SCHOOLS:READ', 'openid', '**'].map(unknownScope),
  [
    'a scope that the client is not registered with',
    withChanges({ scope: 'schools:read' }, 'unscoped'),
    'invalid_scope',
    'requested scope is not allowed: schools:read',
    { scope: 'schools:read' },
  ],
  ...['sch"ools', 'a\tb'].map((scope): Redirected => [
    `scope ${JSON.stringify(scope)}`,
    withChanges({ scope }),
    'invalid_scope',
    'scope contains invalid characters',
  ]),
  ...(
    [
      ['request', () => 'eyJhbGciOiJub25lIn0.e30.', 'request_not_supported'],
      ['request_uri', ({ platform }) => `${platform.origin}/never-fetched`, 'request_uri_not_supported'],
      ['registration', () => '{}', 'registration_not_supported'],
      ['resource', () => 'https://evil.example/', 'invalid_target'],
      ['resource', () => 'nonsense', 'invalid_target'],
    ] as readonly [string, (server: Server) => string, string][]
  ).map(([name, value, error], index): Redirected => [
    `unsupported parameter ${index + 1}, ${name}`,
    (server) => urlWith(server.platform, server.app, { [name]: value(server) }),
    error,
    undefined,
  ]),
  ...(['web_message', 'query.jwt', '__proto__'] as const).map((mode): Redirected => [
    `response_mode ${mode}`,
    withChanges({ response_mode: mode }),
    'unsupported_response_mode',
    undefined,
  ]),
  [
    'an unknown response_mode and scope',
    withChanges({ response_mode: 'web_message', scope: 'unknown' }),
    'unsupported_response_mode',
    undefined,
  ],
  [
    'an unknown response_mode at a path in another case',
    ({ app, platform }) => {
      const url = urlWith(platform, app, { response_mode: 'web_message' });
      url.pathname = '/OAUTH/Authorize/';
      return url;
    },
    'unsupported_response_mode',
    undefined,
  ],
  ['no PKCE of a public client', withChanges({}, 'publicApp'), ...PKCE_REQUIRED],
  ...BOTH.flatMap((of) =>
    ['plain', 's256', 'S512', 'none', '__proto__'].map((method): Redirected => [
      `code_challenge_method ${method}, ${of}`,
      withChanges({ code_challenge: CHALLENGE, code_challenge_method: method }, of),
      'invalid_request',
      'not supported value of code_challenge_method',
    ]),
  ),
  ...BOTH.map((of): Redirected => [
    `no code_challenge_method, ${of}`,
    withChanges({ code_challenge: CHALLENGE }, of),
    'invalid_request',
    undefined,
  ]),
  ...BOTH.map((of): Redirected => [
    `no code_challenge, ${of}`,
    withChanges({ code_challenge_method: 'S256' }, of),
    'invalid_request',
    undefined,
  ]),
  ...['x', LONG, 'x'.repeat(129), `${LONG}=`, `${LONG} `].map((challenge, index): Redirected => [
    `malformed code_challenge ${index + 1}`,
    withChanges({ code_challenge: challenge, code_challenge_method: 'S256' }),
    'invalid_request',
    undefined,
  ]),
];

for (const [index, [title, url, error, description, more]] of REDIRECTED.entries()) {
  test(`authorization endpoint, request ${index + 1}: ${title}`, async (t) => {
    const server = await started();
    const { location, status } = await signedIn.get(url(server));
    t.is(status, 303);
    t.is(`${location?.origin}${location?.pathname}`, 'https://reports.example/callback');
    // Errors of response types with a fragment are in the fragment (OAuth 2.0 Multiple Response Types, section 5).
    const answer = Object.fromEntries(new URLSearchParams(location!.search || location!.hash.slice(1)));
    const { error_description: received, ...rest } = answer;
    t.deepEqual(rest, { error, ...more, state: 'xyz', iss: server.platform.origin });
    if (description !== undefined) t.is(received, description);
  });
}

test('with two states neither is returned', async (t) => {
  const { app, platform } = await started();
  const { location } = await signedIn.get(repeated(authorizeUrl(platform, app), 'state', 'other'));
  t.is(`${location?.origin}${location?.pathname}`, 'https://reports.example/callback');
  t.true(location?.searchParams.has('error'));
  t.false(location?.searchParams.has('state'));
});

const UNKNOWN = 'This app is not known here';
const INCOMPLETE = 'This link is incomplete';

/** Requests that no client is told of. */
const PAGES: readonly (readonly [
  title: string,
  url: (server: Server) => URL,
  heading: string | undefined,
  browser?: 'without a session',
])[] = [
  ...(
    [
      ['a disabled client', ({ disabled }) => disabled.client.id, UNKNOWN],
      ['a client_id in another case', ({ app }) => app.client.id.toUpperCase(), UNKNOWN],
      ['a client_id and a NUL', ({ app }) => `${app.client.id}\u0000`, UNKNOWN],
      ['client_id __proto__', () => '__proto__', UNKNOWN],
      ['a long client_id', () => 'x'.repeat(5000), UNKNOWN],
      ['no client_id', () => undefined, INCOMPLETE],
      ['an empty client_id', () => '', INCOMPLETE],
    ] as readonly [string, (server: Server) => string | undefined, string][]
  ).flatMap(([title, id, heading]) =>
    [{}, { scope: 'unknown' }, { prompt: 'none' }].map(
      (more) =>
        [
          `${title} ${JSON.stringify(more)}`,
          (server: Server) => urlWith(server.platform, server.app, { client_id: id(server), ...more }),
          heading,
        ] as const,
    ),
  ),
  ...(
    [
      ['two parameters client_id', 'two', 'client_id', ({ two }) => two.client.id],
      ['the same redirect_uri twice', 'two', 'redirect_uri', ({ two }) => two.redirectUri],
      ['two registered redirect URIs', 'two', 'redirect_uri', () => OTHER],
      ['a redirect_uri and a wrong one', 'app', 'redirect_uri', () => 'https://evil.example/'],
    ] as readonly [string, 'app' | 'two', string, (server: Server) => string][]
  ).map(
    ([title, of, name, value]) =>
      [
        title,
        (server: Server) => repeated(authorizeUrl(server.platform, server[of]), name, value(server)),
        INCOMPLETE,
        'without a session',
      ] as const,
  ),
  ...['https://reports.example/callback', undefined].map(
    (redirectUri) =>
      [
        `a client-credentials client, redirect_uri ${redirectUri}`,
        ({ platform, service }: Server) => urlWith(platform, service, { redirect_uri: redirectUri }),
        undefined,
      ] as const,
  ),
];

for (const [index, [title, url, heading, without]] of PAGES.entries()) {
  test(`authorization endpoint, page ${index + 1}: ${title}`, async (t) => {
    const page = await (without ? new Browser() : signedIn).get(url(await started()));
    t.deepEqual([page.status, page.location], [400, undefined]);
    t.regex(page.response.headers.get('content-type')!, /^text\/html/);
    if (heading !== undefined) t.is(page.heading, heading);
  });
}
