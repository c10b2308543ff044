import test from '../harness/test.ts';

import { postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { FORM, startTokenPlatform } from './token-platform.ts';

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

test('a body with the encoding identity is accepted', async (t) => {
  const { goodForm } = await started();
  t.is((await sendAs(FORM, goodForm, { 'content-encoding': 'identity' })).status, 200);
});
