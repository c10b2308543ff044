/** Part of each value that a page must not repeat as HTML. */
export const MARK = 'swept';

const HUGE = 'a'.repeat(3000);

/** Values that no parameter accepts. */
export const ODD_VALUES: readonly string[] = [
  '',
  ' ',
  'a\u0000b',
  '\u202e',
  '\ud800',
  '😀',
  'İ',
  '%',
  '%00',
  '%ff',
  '%252e%252e%252f',
  '__proto__',
  'constructor',
  '{}',
  '{"$gt":""}',
  'null',
  '-1',
  '1e999',
  '99999999999999999999',
  '../../etc/passwd',
  "' or 1=1 --",
  '<%= 7*7 %>',
  `"><${MARK}>`,
  `</title><${MARK}>`,
  `"${MARK}="`,
  `javascript:${MARK}()`,
  '\r\nX-Injected: yes',
  'https://evil.example/',
  '//evil.example/',
  String.raw`\\evil.example`,
  '/\t/evil.example',
  HUGE,
  '.'.repeat(300),
  'a'.repeat(70_000),
];

const NAMES = `
  client_id client_secret client_assertion client_assertion_type grant_type code code_verifier
  code_challenge code_challenge_method redirect_uri refresh_token response_type response_mode scope
  state prompt max_age nonce claims id_token_hint login_hint resource request request_uri registration
  authorization_details dpop_jkt ui_locales display token token_type_hint access_token return_to items
  mode dryRun input id __proto__ constructor prototype
`;

/** Names of members and parameters. */
export const ODD_NAMES: readonly string[] = [...NAMES.trim().split(/\s+/), 'a[b]', 'a.b', '', '\u0000'];

/** Invalid, deep and large JSON. */
export const ODD_JSON: readonly string[] = [
  '',
  'null',
  'tru',
  '1e999',
  '123456789012345678901234567890',
  '[]',
  '{"a":"b"}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{"a":1}}}',
  '{"a":1,"a":2}',
  String.raw`"\ud800"`,
  String.raw`"\u0000"`,
  String.raw`"\x"`,
  '\ufeff{}',
  "{'a':1}",
  '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]',
  '['.repeat(10_000),
  `{"a":${'{"a":'.repeat(3000)}`,
  `"${'a'.repeat(70_000)}"`,
  `[${'1,'.repeat(9000)}1]`,
];

/** Parts of paths, as in a request line. */
export const ODD_PIECES: readonly string[] = [
  '/',
  '/../',
  '/..;/',
  '%2e%2e/',
  '%2f',
  '%5c',
  '\\',
  '%00',
  '%0d%0aX-Injected:%20yes',
  '%',
  '%ff',
  '%c0%af',
  ';a=b',
  '?',
  '#',
  '__proto__',
  '\u00e4',
  `%3C${MARK}%3E`,
  `<${MARK}>`,
  '[',
  '*',
  ':id',
  'a'.repeat(3000),
];

const METHODS = 'GET POST HEAD PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY';

export const ODD_METHODS: readonly string[] = METHODS.split(' ');

const FORM = 'application/x-www-form-urlencoded';
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const unsigned = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.e30.`;

/** Header fields with unusual or invalid values. */
export const ODD_HEADERS: Readonly<Record<string, readonly string[]>> = {
  'content-type': [
    '',
    'application/json',
    'application/json; charset=utf-16',
    'APPLICATION/JSON',
    'application/problem+json',
    FORM,
    `${FORM}, application/json`,
    'multipart/form-data',
    'multipart/form-data; boundary="',
    'text/plain',
    ';',
    `<${MARK}>`,
  ],
  authorization: [
    '',
    'Basic ',
    'Basic !!!',
    basic(':'),
    basic('%zz:%zz'),
    basic('__proto__:constructor'),
    basic('\ud800:\ufeff'),
    basic(`${HUGE}:${HUGE}`),
    'Bearer ',
    'Bearer  a',
    'bearer a.b.c',
    `Bearer ${unsigned}`,
    `Bearer ${'.'.repeat(9000)}`,
    `Bearer ${'eyJ'.repeat(3000)}`,
    'DPoP a.b.c',
    `"><${MARK}>`,
    '\u00ff',
  ],
  cookie: [
    '',
    ';;;',
    'a=b; a=c',
    '__proto__=1; constructor=2',
    'gatehouse_session_1=a',
    'gatehouse_interaction=%00; gatehouse_interaction.sig=%zz',
    `a="${MARK}`,
    'a=b; '.repeat(1500),
  ],
  host: ['evil.example', '', '%00', 'a:b:c', 'localhost:99999', '[::1]', 'a'.repeat(300), `"><${MARK}>`],
  'x-forwarded-host': ['evil.example', `"><${MARK}>`, ',,,'],
  'x-forwarded-proto': ['https', 'javascript', `"><${MARK}>`],
  'x-forwarded-for': ['1.2.3.4', 'a', ','.repeat(5000), `"><${MARK}>`],
  forwarded: ['for=1.2.3.4;host=evil.example;proto=https', '"'],
  'x-original-url': ['/developer/apps', '//evil.example'],
  'x-http-method-override': ['DELETE', '__proto__'],
  'x-request-id': ['', 'a b', HUGE, `"><${MARK}>`, '\u00ff'],
  traceparent: ['', '00-0-0-0', `00-${'f'.repeat(32)}-${'f'.repeat(16)}-01`, HUGE],
  origin: ['https://evil.example', 'https://reports.example', 'null', '', 'a', `"><${MARK}>`],
  referer: ['https://evil.example/', '', '//', `"><${MARK}>`],
  'sec-fetch-site': ['cross-site', 'same-origin', 'none', '', 'a'],
  accept: ['text/html', '*/*;q=x', ',,,', 'application/x-ndjson', 'a/b;'.repeat(500), ''],
  'accept-language': ['de', 'de;q=x', '__proto__', '*', ','.repeat(3000)],
  'accept-encoding': ['gzip', 'br;q=x', '*;q=0'],
  'access-control-request-method': ['POST', 'a', ''],
  'access-control-request-headers': ['authorization', 'a'.repeat(500)],
  'content-encoding': ['gzip', 'identity', 'br', 'a', 'gzip, gzip'],
  'idempotency-key': ['a', '"a"', '"', '', 'a, b', '\u00e4', 'a'.repeat(300)],
  'if-none-match': ['*', 'W/"a"', '"', ','.repeat(1000)],
  'if-modified-since': ['yesterday', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  range: ['bytes=0-0', 'bytes=-1', 'bytes=9-0,,'],
  'user-agent': ['', `<${MARK}>`],
  prefer: ['respond-async', '='],
};
