import { Browser } from '../harness/browser.ts';
import { signIn } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import type { Announced, AnnouncedClient } from './running-example.ts';

/** An access token for one of the example's apps, for the default API or another one. */
export async function clientToken(announced: Announced, name: string, resource?: string): Promise<string> {
  return tokenOf(announced, {
    grant_type: 'client_credentials',
    ...credentials(announced, name),
    ...(resource === undefined ? {} : { resource }),
  });
}

/** An access token for one of the example's users, requested with the real pages. */
export async function userToken(announced: Announced, login: string): Promise<string> {
  const app = clientOf(announced, 'Command line');
  const browser = new Browser();
  const { password } = announced.users.find((user) => user.login === login)!;
  const consent = await signIn(browser, await browser.open(authorizeUrl(announced, app)), login, password);
  const page = await browser.follow(await browser.submit(consent, 'Authorize'));
  return tokenOf(announced, {
    grant_type: 'authorization_code',
    ...credentials(announced, app.name),
    redirect_uri: app.redirect_uris[0]!,
    code: page.url.searchParams.get('code')!,
  });
}

/** The URL of an authorization request of one of the example's apps. */
export function authorizeUrl(
  announced: Announced,
  { client_id: id, redirect_uris: uris }: AnnouncedClient,
  parameters: Readonly<Record<string, string>> = {},
): URL {
  const url = new URL('/oauth/authorize', announced.base_url);
  const needed = { client_id: id, redirect_uri: uris[0]!, response_type: 'code' };
  url.search = String(new URLSearchParams({ ...needed, ...parameters }));
  return url;
}

async function tokenOf(announced: Announced, parameters: Record<string, string>): Promise<string> {
  const { body, text } = await postJson(`${announced.base_url}/oauth/token`, parameters);
  if (typeof body?.['access_token'] !== 'string') throw new Error(`No token: ${text}`);
  return body['access_token'];
}

function credentials(announced: Announced, name: string): { client_id: string; client_secret: string } {
  const { client_id, client_secret } = clientOf(announced, name);
  return { client_id, client_secret };
}

export function clientOf(announced: Announced, name: string): AnnouncedClient {
  return announced.clients.find((client) => client.name === name)!;
}
