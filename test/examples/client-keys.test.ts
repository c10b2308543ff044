import test from 'ava';
import * as client from 'openid-client';

import { Browser } from '../harness/browser.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import { signIn } from '../harness/platform.ts';
import { startForScripts, temporaryDirectory } from './running-example.ts';

test('a developer gives an app of the example a key, and openid-client authenticates with it', async (t) => {
  await using directory = await temporaryDirectory();
  const example = await startForScripts({ dataDirectory: directory.path });
  t.teardown(async () => example.stop());
  const { base_url: url, clients, users } = example.announced;
  const service = clients.find(({ grant_type: grantType }) => grantType === 'client_credentials')!;
  const [administrator] = users;
  const { privateKey, publicJwk } = await makeKeyPair('key-1', 'Ed25519');

  const browser = new Browser();
  const login = await browser.open(new URL('/oauth/login', url));
  await signIn(browser, login, administrator!.login, administrator!.password);
  const page = await browser.open(new URL(`/developer/apps/${service.client_id}/keys`, url));
  const jwks = JSON.stringify({ keys: [publicJwk] });
  t.is((await browser.submit(page, 'Save', { jwks, jwksUri: '' })).status, 303);

  const config = await client.discovery(
    new URL(url),
    service.client_id,
    undefined,
    client.PrivateKeyJwt({ key: privateKey, kid: 'key-1' }),
    { algorithm: 'oauth2', execute: [client.allowInsecureRequests] },
  );
  const { access_token: token } = await client.clientCredentialsGrant(config);
  const answer = await client.fetchProtectedResource(config, token, new URL('/api/v1/identity', url), 'GET');
  t.like(await answer.json(), { data: { type: 'client', id: service.client_id } });
});
