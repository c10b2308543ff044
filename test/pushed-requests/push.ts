import { pushedRequests } from 'koa-gatehouse';

import { BOTH_SCOPES, startPlatform } from '../harness/platform.ts';
import type { Mounting, Platform, RegisteredApp } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';

/** A platform at which apps can push. */
export async function startPushPlatform(
  options: Parameters<typeof pushedRequests>[0] = {},
  given: Parameters<typeof startPlatform>[0] = {},
  mounting: Mounting = {},
): Promise<Platform> {
  return startPlatform({ scopes: BOTH_SCOPES, features: [pushedRequests(options)], ...given }, mounting);
}

/** Pushes an authorization request. */
export async function push(
  platform: Pick<Platform, 'reach' | 'url'>,
  app: RegisteredApp,
  parameters: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const request = { redirect_uri: app.redirectUri, response_type: 'code', state: 'xyz', ...parameters };
  return postForm(platform.reach(platform.url('/oauth/par')), { ...asClient(app), ...request }, headers);
}

/** The same. Resolves to the URL for the browser. @throws Error when it was refused */
export async function pushedUrl(
  platform: Pick<Platform, 'reach' | 'url'>,
  app: RegisteredApp,
  parameters: Record<string, string> = {},
  more: Record<string, string> = {},
): Promise<URL> {
  const { body, status, text } = await push(platform, app, parameters);
  if (status !== 201) throw new Error(`${status} ${text}`);
  const url = platform.url('/oauth/authorize');
  const query = { client_id: app.client.id, request_uri: String(body!['request_uri']), ...more };
  url.search = String(new URLSearchParams(query));
  return url;
}
