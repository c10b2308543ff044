import { gzipSync } from 'node:zlib';

import test from '../harness/test.ts';

import { postForm, postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { FORM, UNAUTHENTICATED, invalid, outline, startTokenPlatform } from './token-platform.ts';

const started = shared(async (stack) => {
  const server = stack.use(await startTokenPlatform());
  const { endpoint, service, good, goodForm, asApp, platform } = server;
  return { server, endpoint, service, good, goodForm, asApp, platform };
});

async function sendAs(type: string, body: string | Uint8Array<ArrayBuffer>, more = {}): Promise<Answer> {
  const { endpoint } = await started();
  return send(endpoint, { method: 'POST', body, headers: { 'content-type': type, ...more } });
}

test('content types are accepted in any case and with any charset', async (t) => {
  const { endpoint, good, goodForm } = await started();
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; charset="utf-8"; x=y',
  ]) {
    t.is((await postJson(endpoint, good, { 'content-type': type })).status, 200, type);
  }
  for (const type of [FORM, FORM.toUpperCase(), `${FORM}; charset=UTF-8`, `${FORM};charset=iso-8859-1`]) {
    t.is((await sendAs(type, goodForm)).status, 200, type);
  }
});

test('other content types are refused', async (t) => {
  const { goodForm } = await started();
  for (const type of [
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/json-patch+json',
    'application/x-www-form-urlencoded-not',
    '*/*',
    ';',
  ]) {
    const answer = await sendAs(type, goodForm);
    t.deepEqual(outline(answer), invalid(`Send the body as ${FORM} or application/json.`), type);
  }
});

test('a body that is not a flat object of strings is refused', async (t) => {
  const { service, goodForm, platform, endpoint } = await started();
  const secret = JSON.stringify(service.secret);
  const id = JSON.stringify(service.client.id);
  const start = `{"grant_type":"client_credentials","client_id":${id},"client_secret":${secret}`;
  for (const [body, description] of [
    ['', 'no client authentication mechanism provided'],
    ['{', 'The body is not valid JSON.'],
    [`${start},}`, 'The body is not valid JSON.'],
    [`${start}}{}`, 'The body is not valid JSON.'],
    [goodForm, 'The body is not valid JSON.'],
    ['null', 'The body must be an object of parameters.'],
    ['"x"', 'The body must be an object of parameters.'],
    ['[]', 'The body must be an object of parameters.'],
    [`${start},"scope":1.5}`, 'The parameter scope must be a string.'],
    [`${start},"scope":1e400}`, 'The parameter scope must be a string.'],
    [`${start},"scope":["schools:read"]}`, 'The parameter scope must be a string.'],
    [`${start},"resource":["${platform.origin}"]}`, 'The parameter resource must be a string.'],
    [`${start},"scope":true}`, 'The parameter scope must be a string.'],
    [`${start},"x":{"y":1,"y":2}}`, 'An object of the body contains a duplicate member.'],
    [`${start},"client_secret":"wrong"}`, 'An object of the body contains a duplicate member.'],
    [`${start},"clien\\u0074_secret":${secret}}`, 'An object of the body contains a duplicate member.'],
    [`${start},"__proto__":"x","__proto__":"x"}`, 'An object of the body contains a duplicate member.'],
  ] as const) {
    t.deepEqual(outline(await postJson(endpoint, body)), invalid(description), body.slice(0, 200));
  }
});

test('null is the same as left out, and unknown members are ignored, at each endpoint', async (t) => {
  const { endpoint, good, server, platform } = await started();
  const more = {
    scope: null,
    resource: null,
    audience: ['x'],
    metadata: { x: { y: [null, true, { z: 1 }] } },
    remember: true,
    ratio: 1.5,
  };
  const { body } = await postJson(endpoint, { ...good, ...more });
  t.is(typeof body?.['access_token'], 'string');
  const deep = `${JSON.stringify(good).slice(0, -1)},"x":${'['.repeat(5000)}${']'.repeat(5000)}`;
  for (const member of ['', ',"__proto__":{"admin":"yes"}'])
    t.is((await postJson(endpoint, `${deep}${member}}`)).status, 200);
  const token = String(body?.['access_token']);
  const { asService } = server;
  t.is((await postJson(platform.url('/oauth/revoke'), { ...asService, ...more, token })).status, 200);
  const refused = await postJson(platform.url('/oauth/revoke'), { ...asService, token: { x: 1 } });
  t.deepEqual(outline(refused), invalid('The parameter token must be a string.'));
  t.deepEqual(outline(await postJson(endpoint, { ...good, client_secret: null })), UNAUTHENTICATED);
});

test('members with unusual names are accepted', async (t) => {
  const { good, endpoint } = await started();
  for (const more of [
    '"__proto__":"x"',
    '"constructor":"x"',
    '"hasOwnProperty":"x"',
    '"":""',
    '"a:b":"c:d","e":"\\":\\"","f":"{\\"x\\":1}"',
    '"x":9007199254740991,"y":-1',
    '"\\ud800":"\\udfff"',
  ]) {
    const body = `\ufeff\n${JSON.stringify(good).slice(0, -1)}, ${more} }\r\n`;
    t.is((await postJson(endpoint, body)).status, 200, more);
  }
});

test('a number is read as its decimal text', async (t) => {
  const { endpoint, asApp, good } = await started();
  const code = await postJson(endpoint, { grant_type: 'refresh_token', ...asApp, refresh_token: 12_345 });
  t.is(code.body?.['error'], 'invalid_grant');
  t.deepEqual(outline(await postJson(endpoint, { ...good, client_id: 1 })), UNAUTHENTICATED);
});

test('a repeated parameter of a form is refused', async (t) => {
  const { service, endpoint, goodForm } = await started();
  for (const [more, description] of [
    ['client_id=x', "'client_id' parameter must not be provided twice"],
    [`client_secret=${service.secret}`, "'client_secret' parameter must not be provided twice"],
    ['grant_type=client_credentials', "'grant_type' parameter must not be provided twice"],
    ['scope=&scope=', "'scope' parameter must not be provided twice"],
    ['scope=schools:read&scope=schools:read', "'scope' parameter must not be provided twice"],
  ] as const) {
    t.deepEqual(outline(await postForm(endpoint, `${goodForm}&${more}`)), invalid(description), more);
  }
});

test('bytes that are not UTF-8, and a compressed body, are refused', async (t) => {
  const { goodForm } = await started();
  const bytes = Buffer.concat([Buffer.from('{"client_id":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
  for (const type of [FORM, 'application/json'])
    t.deepEqual(outline(await sendAs(type, bytes)), invalid('The body is not UTF-8.'), type);
  for (const encoding of ['gzip', 'br', 'x', 'gzip, gzip']) {
    const answer = await sendAs(FORM, gzipSync(goodForm), { 'content-encoding': encoding });
    t.deepEqual(outline(answer), invalid('The body must not be compressed.'), encoding);
  }
  t.is((await sendAs(FORM, goodForm, { 'content-encoding': 'identity' })).status, 200);
});
