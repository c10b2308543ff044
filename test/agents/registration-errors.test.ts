/** What the endpoint of registration refuses (RFC 7591): a row is one wrong request, after which nothing is registered. */
import test from '../harness/test.ts';

import { send } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { AGENT, register, startOpen } from './apps.ts';
import { CALLBACK } from './documents.ts';

const started = shared(async (stack) => ({ platform: await startOpen(stack) }));

const PUBLIC = { token_endpoint_auth_method: 'none' };

/** Redirect URIs, and what is wrong with them. */
const REFUSED_URIS: [uris: unknown, description: RegExp, more?: object][] = [
  [undefined, /redirect_uris: give an array of 1 to 20 URIs/],
  [[], /1 to 20/],
  ['https://a.example', /1 to 20/],
  [[1], /1 to 20/],
  [Array.from({ length: 21 }, (_, index) => `https://a.example/${index}`), /1 to 20/],
  [['http://a.example/'], /^redirect_uris\[0\]: use https/],
  [[CALLBACK, 'https://a.example/#b'], /^redirect_uris\[1\]: .*fragment/],
  [['https://*.example/'], /wildcard/],
  [['javascript:alert(1)'], /use https/],
  [['javascript:alert(1)'], /^redirect_uris\[0\]: use a scheme of your own/, PUBLIC],
  [['com.example.app:/callback'], /use https/],
  [
    [CALLBACK, 'cursor://callback', 'intent://a.example/'],
    /^redirect_uris\[2\]: use a scheme of your own, [^;]*$/,
    PUBLIC,
  ],
  [['not a uri'], /percent-encode/],
];

/** Changes of the metadata of an app that would be registered. */
const REFUSED: [changes: object, description: RegExp, error?: string][] = [
  [{ client_name: 1 }, /^client_name: give a string/],
  [{ client_name: 'x'.repeat(101) }, /^client_name: .* 1 to 100/],
  [{ client_name: 'Ac\u{202E}me' }, /^client_name: .*control/],
  [{ client_name: 'Acme Schools' }, /^client_name: .*reserved/],
  [{ client_name: 'Аcme Schооls' }, /^client_name: .*reserved/],
  [{ client_name: 'Pаypal' }, /^client_name: .*one script/],
  [{ scope: ['schools:read'] }, /^scope: give a string/],
  [{ scope: 'schools:write *' }, /^scope: .*any of these scopes/],
  [{ grant_types: ['client_credentials'] }, /^grant_types: .*users only/],
  [{ grant_types: 'authorization_code' }, /^grant_types: give an array/],
  [{ response_types: ['token'] }, /^response_types: .*with code/],
  [{ application_type: 'desktop' }, /^application_type: give native or web/],
  [{ token_endpoint_auth_method: 'private_key_jwt' }, /^token_endpoint_auth_method: give none/],
  [{ application_type: 'native', token_endpoint_auth_method: 'client_secret_post' }, /cannot keep a secret/],
  [{ software_statement: 'a.b.c' }, /trusts no publisher/, 'unapproved_software_statement'],
  [{ software_statement: {} }, /give a JWT/, 'invalid_software_statement'],
];

const METADATA = [
  ...REFUSED_URIS.map(
    ([redirect_uris, about, more]) => [{ redirect_uris, ...more }, 'invalid_redirect_uri', about] as const,
  ),
  ...REFUSED.map(
    ([changes, about, code = 'invalid_client_metadata']) => [{ ...AGENT, ...changes }, code, about] as const,
  ),
];

for (const [index, [metadata, error, description]] of METADATA.entries()) {
  test(`registration, metadata ${index + 1}: ${error}, ${description.source}`, async (t) => {
    const { platform } = await started();
    const { body, headers, status, text } = await register(platform, metadata);
    t.deepEqual([status, body!['error']], [400, error], text);
    t.regex(body!['error_description'] as string, description);
    t.is(headers.get('cache-control'), 'no-store');
    t.deepEqual(await platform.auth.clients.list(), []);
  });
}

/** What is no JSON object of a bounded size and depth. */
const BODIES: [title: string, body: string | undefined, status: number, type?: string][] = [
  ['no body', undefined, 400],
  ['an empty body', '', 400],
  ['half of an object', '{', 400],
  ['a list', '[]', 400],
  ['null', 'null', 400],
  ['a string', '"text"', 400],
  ['a deep object', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`, 400],
  ['a duplicate member', '{"client_name":"a","client_name":"b"}', 400],
  ['a NUL', JSON.stringify({ client_name: 'a\0' }), 400],
  ['a large object', JSON.stringify({ ...AGENT, padding: 'x'.repeat(60_000) }), 413],
  ['a form', 'client_name=a', 415, 'application/x-www-form-urlencoded'],
  ['a text', JSON.stringify(AGENT), 415, 'text/plain'],
];

for (const [title, body, status, type = 'application/json'] of BODIES) {
  test(`registration: ${title}`, async (t) => {
    const { platform } = await started();
    const headers = { 'content-type': type };
    const init = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
    const answer = await send(platform.url('/oauth/register'), init);
    t.is(answer.status, status, answer.text);
    t.is(answer.body!['error'], 'invalid_client_metadata');
  });
}

test('registration: GET', async (t) => {
  const { platform } = await started();
  const { body, headers, status } = await send(platform.url('/oauth/register'));
  t.deepEqual([status, headers.get('allow'), body!['error']], [405, 'POST, OPTIONS', 'invalid_request']);
});
