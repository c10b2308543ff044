// better-auth with its OAuth 2.1 provider: all documented caches on, and a password hash that costs nothing.
import { createHash } from 'node:crypto';

import { oauthProvider } from '@better-auth/oauth-provider';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { jwt } from 'better-auth/plugins';
import Database from 'better-sqlite3';

const RESOURCE = 'https://api.example';
const SCOPES = ['offline_access', 'schools:read'];
const PEOPLE = 16;
const PASSWORD = 'correct horse';

/** @type {import('../server/peer.ts').StartPeer} */
export async function start({ file, isNew, origin, clients, redirectUri }) {
  const database = new Database(file);
  // The same durability as that of this package.
  database.pragma('journal_mode = wal');
  database.pragma('synchronous = normal');
  const auth = makeAuth(origin, database, clients);
  if (isNew) await fill(auth, clients, redirectUri);

  const answer = toNodeHandler(auth);
  return {
    registered: {
      service: { ...clients.service, parameters: { resource: RESOURCE } },
      app: { ...clients.app, parameters: { resource: RESOURCE, scope: SCOPES.join(' ') } },
    },
    listener(request, response) {
      const { pathname, search } = new URL(request.url, origin);
      if (pathname === '/sign-in' || pathname === '/consent') {
        void showPage(request, response, { auth, pathname, search });
        return;
      }
      // The paths of the other servers, so that the driver is the same.
      request.url = request.url.replace('/oauth/', '/api/auth/oauth2/');
      void answer(request, response);
    },
  };
}

function makeAuth(origin, database, { service, app }) {
  let keys;
  return betterAuth({
    baseURL: origin,
    secret: 'a secret of better-auth for the benchmark only',
    database,
    logger: { disabled: true },
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    emailAndPassword: {
      enabled: true,
      password: {
        hash: async (password) => hash(password),
        verify: async ({ hash: stored, password }) => stored === hash(password),
      },
    },
    disabledPaths: ['/token'],
    session: { cookieCache: { enabled: true, maxAge: 300 } },
    plugins: [
      jwt({
        jwks: { keyPairConfig: { alg: 'ES256' }, disablePrivateKeyEncryption: true },
        disableSettingJwtHeader: true,
        adapter: {
          async getJwks({ context }) {
            keys ??= await context.adapter.findMany({ model: 'jwks' });
            return keys;
          },
        },
      }),
      oauthProvider({
        loginPage: '/sign-in',
        consentPage: '/consent',
        scopes: SCOPES,
        resources: [RESOURCE],
        enforcePerClientResources: false,
        cachedTrustedClients: new Set([service.id, app.id]),
        cachedResources: new Set([RESOURCE]),
        silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
      }),
    ],
  });
}

async function fill(auth, { service, app }, redirectUri) {
  await (await getMigrations(auth.options)).runMigrations();
  const { adapter } = await auth.$context;
  const common = {
    scopes: SCOPES,
    clientCredentialsScopes: ['schools:read'],
    responseTypes: ['code'],
    tokenEndpointAuthMethod: 'client_secret_post',
    requirePKCE: true,
    createdAt: new Date(),
    updatedAt: new Date(),
  };
  for (const [{ id, secret }, grantTypes] of [
    [service, ['client_credentials']],
    [app, ['authorization_code', 'refresh_token']],
  ]) {
    const data = {
      ...common,
      clientId: id,
      clientSecret: hash(secret),
      redirectUris: [redirectUri],
      grantTypes,
    };
    await adapter.create({ model: 'oauthClient', data });
  }
  for (let index = 0; index < PEOPLE; index += 1) {
    const name = `person-${index}`;
    await auth.api.signUpEmail({ body: { email: `${name}@school.example`, password: PASSWORD, name } });
  }
}

/** The pages of an application, which log in and consent by its JSON API; without scripts, for the driver. */
async function showPage(request, response, { auth, pathname, search }) {
  if (request.method === 'GET') {
    response.setHeader('content-type', 'text/html');
    response.end(`<form method="post" action="${pathname}${search.replaceAll('&', '&amp;')}">
      <input name="${pathname === '/sign-in' ? 'login' : 'accept'}"></form>`);
    return;
  }
  const fields = new URLSearchParams(await new Response(request).text());
  const [path, input] =
    pathname === '/sign-in'
      ? ['sign-in/email', { email: `${fields.get('login')}@school.example`, password: PASSWORD }]
      : ['oauth2/consent', { accept: true }];
  const { origin } = new URL(auth.options.baseURL);
  const answered = await auth.handler(
    new Request(`${origin}/api/auth/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        origin,
        cookie: request.headers.cookie ?? '',
      },
      body: JSON.stringify({ ...input, oauth_query: search.slice(1) }),
    }),
  );
  const text = await answered.text();
  response.statusCode = answered.ok ? 303 : 500;
  if (answered.ok) response.setHeader('location', JSON.parse(text).url);
  response.setHeader('set-cookie', answered.headers.getSetCookie());
  response.end(text);
}

function hash(value) {
  return createHash('sha256').update(value).digest('base64url');
}
