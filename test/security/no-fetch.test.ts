import { createHmac } from 'node:crypto';

import test from '../harness/test.ts';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JWTHeaderParameters } from 'jose';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { basic, postForm } from '../harness/requests.ts';
import { serve } from '../harness/serve.ts';

test('the server fetches no URL of a request or a token', async (t) => {
  await using elsewhere = await serve(() => (_request, response) => void response.end('{}'));
  await using platform = await startPlatform();
  const at = (path: string): string => `${elsewhere.origin}/${path}`;
  const app = await platform.registerApp({ redirectUris: [at('callback')], confidential: false });
  const service = await platform.registerService();
  const browser = new Browser();

  for (const [name, value] of [
    ['request_uri', at('request')],
    ['request_uri', 'urn:ietf:params:oauth:request_uri:x'],
    ['registration', JSON.stringify({ jwks_uri: at('jwks'), logo_uri: at('logo') })],
    ['client_id', at('client.json')],
    ['resource', at('resource')],
    ['id_token_hint', `${btoa(JSON.stringify({ alg: 'RS256', jku: at('hint') }))}.e30.x`],
  ] as const) {
    await browser.get(authorizeUrl(platform, app, { [name]: value }));
  }

  const assertion = `${btoa('{"alg":"HS256","typ":"JWT"}')}.${btoa(JSON.stringify({ iss: service.client.id }))}`;
  const signature = createHmac('sha256', service.secret).update(assertion).digest('base64url');
  for (const path of ['token', 'revoke', 'introspect']) {
    const fields = {
      grant_type: 'client_credentials',
      resource: at('resource'),
      token: at('token'),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: `${assertion}.${signature}`,
    };
    await postForm(platform.url(`/oauth/${path}`), fields, basic(service.client.id, service.secret));
    await postForm(platform.url(`/oauth/${path}`), { ...fields, client_id: at('client.json') });
  }

  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const claims = { iss: platform.origin, aud: platform.origin, sub: '1', principal: 'user', exp: 4e9 };
  const headers: JWTHeaderParameters[] = [
    { alg: 'ES256', jku: at('jku') },
    { alg: 'ES256', x5u: at('x5u') },
    { alg: 'ES256', jwk: await exportJWK(publicKey) },
    { alg: 'ES256', kid: at('kid') },
    { alg: 'ES256', jku: at('jku'), crit: ['jku'] },
  ];
  const answers = await Promise.all(
    headers.map(async (header) => {
      const token = new SignJWT(claims).setProtectedHeader({ kid: 'x', ...header, typ: 'at+jwt' });
      return platform.api('/identity', await token.sign(privateKey, { crit: { jku: true } }));
    }),
  );
  t.deepEqual(
    answers.map(({ status }) => status),
    headers.map(() => 401),
  );
  const foreign = await new SignJWT({ ...claims, iss: elsewhere.origin })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .sign(privateKey);
  t.is((await platform.api('/identity', foreign)).status, 401);

  t.deepEqual(elsewhere.requests, []);
  t.is((await runCodeFlow(platform, await platform.registerApp())).status, 200);
});
