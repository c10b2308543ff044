import test from '../harness/test.ts';
import { AuthorizationCode, ClientCredentials } from 'simple-oauth2';
import type { ModuleOptions } from 'simple-oauth2';

import { Browser } from '../harness/browser.ts';
import { completeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { SERVERS } from './servers.ts';

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

// How a server is mounted makes a difference to the paths and to the parsing of the body only.
const MOUNTINGS = {
  'in an app with other keys': Object.entries(WAYS),
  'stand-alone, issuer with a path': Object.entries(WAYS).slice(0, 1),
} as const;

for (const [name, ways] of Object.entries(MOUNTINGS)) {
  test(`code flow, refresh, revocation and client credentials: ${name}`, async (t) => {
    await using platform = await startPlatform({}, SERVERS[name]);
    const app = await platform.registerApp();
    const service = await platform.registerService(['view_schools']);
    for (const [way, options] of ways) {
      const client = new AuthorizationCode(settings(platform, app, options));
      const redirect_uri = app.redirectUri;
      const url = client.authorizeURL({ redirect_uri, scope: ['schools:read'], state: 'xyz' });
      const callback = await completeFlow(new Browser(platform.reach), new URL(url));
      t.is(callback.searchParams.get('state'), 'xyz');
      const first = await client.getToken({ code: callback.searchParams.get('code')!, redirect_uri });
      t.like(first.token, { token_type: 'Bearer', expires_in: 31_536_000, scope: 'schools:read' }, way);
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
      t.like(await t.throwsAsync(third.refresh()), {
        message: 'Response Error: 400 Bad Request',
        data: { payload: { error: 'invalid_grant', error_description: 'grant request is invalid' } },
      });

      const { auth, ...rest } = settings(platform, service, options);
      const { authorizePath: _path, ...own } = auth;
      const credentials = new ClientCredentials({ ...rest, auth: own });
      const issued = await credentials.getToken({});
      t.like(issued.token, { token_type: 'Bearer', expires_in: 31_536_000, refresh_token: undefined });
      t.is((await credentials.getToken({ scope: ['schools:read'] })).token['scope'], 'schools:read');
      await issued.revoke('access_token');
      t.like(await t.throwsAsync(credentials.getToken({ scope: 'nonsense' })), {
        message: 'Response Error: 400 Bad Request',
        data: { payload: { error: 'invalid_scope' } },
      });
      const stranger = { ...service, secret: 'wrong' };
      const wrong = new ClientCredentials({ ...settings(platform, stranger, options), auth: own });
      t.like(await t.throwsAsync(wrong.getToken({})), {
        message: 'Response Error: 401 Unauthorized',
        data: { payload: { error: 'invalid_client', error_description: 'client authentication failed' } },
      });
    }
  });
}
