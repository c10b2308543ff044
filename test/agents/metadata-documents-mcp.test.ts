import test from '../harness/test.ts';
import { UnauthorizedError, auth, validateClientMetadataUrl, withOAuth } from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';

import { Agent } from '../harness/agent.ts';
import { Browser } from '../harness/browser.ts';
import { askConsent, serveDocument, startWithDocuments } from './documents.ts';

const REDIRECT_URI = 'http://127.0.0.1:33418/callback';

test('the client of the MCP SDK connects without a registration, and refreshes', async (t) => {
  const platform = await startWithDocuments(t, {}, { resources: {} });
  const site = await serveDocument(t, {
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    client_uri: 'https://agent.example/',
    logo_uri: 'https://agent.example/logo.png',
  });
  t.notThrows(() => validateClientMetadataUrl(site.id));
  const agent = new Agent(REDIRECT_URI, { url: site.id });
  const serverUrl = platform.origin;
  const schools = platform.url('/api/v1/schools');
  const fetchWithOAuth = withOAuth(agent, serverUrl)(fetch);
  await t.throwsAsync(fetchWithOAuth(schools), { instanceOf: UnauthorizedError });
  t.is(agent.registered?.client_id, site.id);

  const browser = new Browser();
  const page = await askConsent(browser, agent.authorizationUrl!);
  t.is(page.heading, `Authorize ${new URL(site.id).host}`);
  t.regex(page.text, /You will be sent to http:\/\/127\.0\.0\.1:33418/);
  const { location } = await browser.follow(await browser.submit(page, 'Authorize'));
  const { code, iss } = Object.fromEntries(location!.searchParams);
  t.is(await auth(agent, { serverUrl, authorizationCode: code!, iss: iss! }), 'AUTHORIZED');
  t.like(decodeJwt(agent.stored!.access_token), { client_id: site.id, scope: 'schools:read' });
  t.is((await fetchWithOAuth(schools)).status, 200);

  agent.stored = { ...agent.stored!, access_token: 'gone' };
  await site[Symbol.asyncDispose]();
  t.is((await fetchWithOAuth(schools)).status, 200);
  t.not(agent.stored.access_token, 'gone');
});
