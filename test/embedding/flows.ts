import type { ExecutionContext } from 'ava';

import { Browser } from '../harness/browser.ts';
import { authorize } from '../harness/platform.ts';
import type { Platform, RunningServer, TokenAnswer } from '../harness/platform.ts';
import { postForm, postJson } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';

type Format = 'JSON' | 'form';

/** Of the parameters. */
export const FORMATS: readonly Format[] = ['JSON', 'form'];

/** Sends a request to the token endpoint. */
export async function askToken(
  { url, reach }: Pick<Platform, 'url' | 'reach'>,
  format: Format,
  parameters: Record<string, string>,
): Promise<TokenAnswer> {
  const send = format === 'form' ? postForm : postJson;
  const { status, headers, body, text } = await send(reach(url('/oauth/token')), parameters);
  return { status, headers, body: (body ?? { error: text }) as TokenAnswer['body'] };
}

/** Runs the three grants and calls the API with each access token. */
export async function runGrants(
  t: ExecutionContext,
  platform: RunningServer,
  { format = 'JSON', browser = new Browser(platform.reach) }: { format?: Format; browser?: Browser } = {},
): Promise<void> {
  const [app, service] = [await platform.registerApp(), await platform.registerService(['view_schools'])];
  const own = await askToken(platform, format, { grant_type: 'client_credentials', ...asClient(service) });
  t.is(own.status, 200, JSON.stringify(own.body));
  t.is((await platform.api('/schools', own.body.access_token)).status, 200);

  const callback = await authorize(platform, app, { browser });
  t.is(callback.get('state'), 'xyz');
  t.is(callback.get('iss'), platform.auth.issuer);
  const issued = await askToken(platform, format, {
    grant_type: 'authorization_code',
    ...asClient(app),
    redirect_uri: app.redirectUri,
    code: callback.get('code') ?? '',
  });
  t.is(issued.status, 200, JSON.stringify(issued.body));
  const refreshed = await askToken(platform, format, {
    grant_type: 'refresh_token',
    ...asClient(app),
    refresh_token: issued.body.refresh_token,
  });
  t.is(refreshed.status, 200, JSON.stringify(refreshed.body));
  const { body } = await platform.api('/identity', refreshed.body.access_token);
  t.like(body, { data: { type: 'user', id: '1', client_id: app.client.id } });

  const wrong = { grant_type: 'client_credentials', client_id: service.client.id, client_secret: 'wrong' };
  const refused = await askToken(platform, format, wrong);
  t.is(refused.status, 401);
  t.deepEqual(refused.body as object, {
    error: 'invalid_client',
    error_description: 'client authentication failed',
  });
}
