import test from 'ava';
import { AuthorizationCode, ClientCredentials } from 'simple-oauth2';
import type { ModuleOptions } from 'simple-oauth2';

import { startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { SERVERS, completeFlow } from './servers.ts';

type Options = NonNullable<ModuleOptions['options']>;

/** Each way in which this client can send its parameters. */
const WAYS: Readonly<Record<string, Options>> = {
  'form, Basic': { bodyFormat: 'form', authorizationMethod: 'header' },
  'form, Basic, credentials not encoded': {
    bodyFormat: 'form',
    authorizationMethod: 'header',
    credentialsEncodingMode: 'loose',
  },
  'form, secret in the body': { bodyFormat: 'form', authorizationMethod: 'body' },
  'JSON, Basic': { bodyFormat: 'json', authorizationMethod: 'header' },
  'JSON, secret in the body': { bodyFormat: 'json', authorizationMethod: 'body' },
};

/** Each way behind a body parser, and one way however the server is mounted. */
const COMBINATIONS = Object.entries(SERVERS).flatMap(([name, mounting]) =>
  Object.entries(WAYS)
    .filter(([way]) => way === 'form, Basic' || name === 'in an app with other keys')
    .map(([way, options]) => ({ name, mounting, way, options })),
);

function settings(platform: Platform, { client, secret }: RegisteredApp, options: Options): ModuleOptions {
  const { origin, auth } = platform;
  const path = new URL(auth.issuer).pathname.replace(/\/$/, '');
  // The default paths of the client are those of this server; only an issuer with a path needs others.
  const paths = {
    tokenPath: `${path}/oauth/token`,
    revokePath: `${path}/oauth/revoke`,
    authorizePath: `${path}/oauth/authorize`,
  };
  return {
    client: { id: client.id, secret },
    auth: { tokenHost: origin, ...(path === '' ? {} : paths) },
    options,
  };
}

for (const { name, mounting, way, options } of COMBINATIONS) {
  test(`code flow, refresh and revocation, ${way}: ${name}`, async (t) => {
    await using platform = await startPlatform({}, mounting);
    const app = await platform.registerApp();
    const client = new AuthorizationCode(settings(platform, app, options));
    const url = client.authorizeURL({
      redirect_uri: app.redirectUri,
      scope: ['schools:read'],
      state: 'xyz',
    });
    const callback = await completeFlow(platform, new URL(url));
    t.is(callback.searchParams.get('state'), 'xyz');
    const code = callback.searchParams.get('code')!;
    const first = await client.getToken({ code, redirect_uri: app.redirectUri });
    t.like(first.token, { token_type: 'Bearer', expires_in: 31_536_000, scope: 'schools:read' });
    t.false(first.expired());

    const restored = client.createToken(
      JSON.parse(JSON.stringify(first)) as Parameters<typeof client.createToken>[0],
    );
    const second = await restored.refresh();
    t.not(second.token['access_token'], first.token['access_token']);
    t.not(second.token['refresh_token'], first.token['refresh_token']);
    await second.revoke('access_token');
    const third = await second.refresh();
    await third.revokeAll();
    const refused = await t.throwsAsync(third.refresh());
    t.like(refused, {
      message: 'Response Error: 400 Bad Request',
      data: { payload: { error: 'invalid_grant', error_description: 'grant request is invalid' } },
    });
  });

  test(`client credentials, ${way}: ${name}`, async (t) => {
    await using platform = await startPlatform({}, mounting);
    const app = await platform.registerService(['view_schools']);
    const { auth, ...rest } = settings(platform, app, options);
    const { authorizePath: _path, ...own } = auth;
    const client = new ClientCredentials({ ...rest, auth: own });
    const issued = await client.getToken({});
    t.like(issued.token, { token_type: 'Bearer', expires_in: 31_536_000 });
    t.false('refresh_token' in issued.token);
    t.is((await client.getToken({ scope: ['schools:read'] })).token['scope'], 'schools:read');
    if (name.startsWith('in an app')) {
      t.is((await platform.api('/schools', String(issued.token['access_token']))).status, 200);
    }
    await issued.revoke('access_token');

    const refused = await t.throwsAsync(client.getToken({ scope: 'nonsense' }));
    t.like(refused, {
      message: 'Response Error: 400 Bad Request',
      data: { payload: { error: 'invalid_scope' } },
    });
    const wrong = new ClientCredentials({
      ...rest,
      auth: own,
      client: { id: app.client.id, secret: 'wrong' },
    });
    t.like(await t.throwsAsync(wrong.getToken({})), {
      message: 'Response Error: 401 Unauthorized',
      data: { payload: { error: 'invalid_client', error_description: 'client authentication failed' } },
    });
  });
}
