// Alone: it sets the clock when it is loaded.
// A database as the version before left it, with its keys, clients, grants, tokens and a login session. `version-before.json` has what
// the clients and the browser of that time hold.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { fakeClock } from 'koa-gatehouse/testing';

import { Browser } from '../harness/browser.ts';
import type { Cookie } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';
import { temporaryFile } from './temporary-file.ts';
import { connectHost } from './host-knex.ts';

interface Held {
  /** When the version before was stopped. */
  readonly at: string;
  readonly app: Credentials;
  readonly service: Credentials;
  readonly cookies: readonly Cookie[];
  readonly accessToken: string;
  readonly refreshToken: string;
  /** The refresh token before it, two seconds ago. */
  readonly spent: string;
  readonly code: string;
  readonly serviceToken: string;
  readonly revoked: { readonly accessToken: string; readonly refreshToken: string };
  readonly disabledToken: string;
}

interface Credentials {
  readonly id: string;
  readonly secret: string;
}

const held = JSON.parse(readFileSync(join(import.meta.dirname, 'version-before.json'), 'utf8')) as Held;

const clock = fakeClock();
clock.set(new Date(held.at));

const file = temporaryFile();
const before = connectHost('better-sqlite3', `sqlite:${file}`);
for (const statement of readFileSync(join(import.meta.dirname, 'version-before.sql'), 'utf8')
  .split(/;$/m)
  .slice(0, -1))
  await before.raw(statement.replaceAll('?', String.raw`\?`));
await before.destroy();

let origin = '';
const reach = (url: URL): URL => new URL(url.pathname + url.search, origin);
const storage = knexStorage(`sqlite:${file}`);
const platform = await startPlatform(
  { storage, secrets: { keyEncryptionKey: 'the key-encryption key of both versions' } },
  {
    inFront(real) {
      origin = real;
      return 'https://platform.example';
    },
    reach,
  },
);
test.after.always(async () => platform[Symbol.asyncDispose]());

const { app, service } = held;

const exchange = async (grant: Readonly<Record<string, string>>): ReturnType<typeof platform.token> =>
  platform.token({ client_id: app.id, client_secret: app.secret, ...grant });

const refresh = async (token: string): ReturnType<typeof platform.token> =>
  exchange({ grant_type: 'refresh_token', refresh_token: token });

const REFUSED = { status: 400, body: { error: 'invalid_grant' } };

test.serial('access tokens of the version before are accepted', async (t) => {
  t.deepEqual(await platform.api('/schools', held.accessToken).then(({ body }) => body), {
    data: [{ id: 1, name: 'Hill School' }],
  });
  t.is((await platform.api('/schools', held.serviceToken)).status, 200);
});

test.serial('what was revoked or disabled stays so', async (t) => {
  for (const [token, code] of [
    [held.revoked.accessToken, 'token_revoked'],
    [held.disabledToken, 'token_holder_gone'],
  ] as const) {
    const { body, status } = await platform.api('/schools', token);
    t.is(status, 401);
    t.is(body['code'], code);
  }
  t.like(await refresh(held.revoked.refreshToken), REFUSED);
});

test.serial(
  'a client authenticates with its secret, and gets a token signed with the same key',
  async (t) => {
    const { body, status } = await exchange({
      grant_type: 'client_credentials',
      client_id: service.id,
      client_secret: service.secret,
    });
    t.is(status, 200);
    t.is(headerOf(body.access_token), headerOf(held.serviceToken));
  },
);

test.serial('a code is exchanged once', async (t) => {
  const code = {
    grant_type: 'authorization_code',
    code: held.code,
    redirect_uri: 'https://reports.example/callback',
  };
  t.is((await exchange(code)).status, 200);
  t.like(await exchange(code), REFUSED);
});

test.serial('a repeated refresh leads to the token that the version before answered with', async (t) => {
  const { body, status } = await refresh(held.spent);
  t.is(status, 200);
  t.is(body.refresh_token, held.refreshToken);
});

test.serial('a refresh token is exchanged, and its reuse after the grace ends the family', async (t) => {
  const { body, status } = await refresh(held.refreshToken);
  t.is(status, 200);
  t.not(body.refresh_token, held.refreshToken);
  t.is((await platform.api('/schools', body.access_token)).status, 200);
  clock.advance('2 minutes');
  t.like(await refresh(held.refreshToken), REFUSED);
  t.like(await refresh(body.refresh_token), REFUSED);
});

test.serial('a browser is signed in, and the user is not asked for consent again', async (t) => {
  const browser = new Browser(reach, held.cookies);
  const client = { client: (await platform.auth.clients.find(app.id))!, secret: app.secret };
  const page = await browser.get(
    authorizeUrl(
      platform,
      { ...client, redirectUri: 'https://reports.example/callback' },
      { scope: 'schools:read' },
    ),
  );
  t.is(page.location?.origin, 'https://reports.example');
  t.truthy(page.location?.searchParams.get('code'));
});

test.serial('rows that expired are pruned, and the server finds nothing wrong', async (t) => {
  clock.advance('400 days');
  t.true((await platform.auth.prune()) > 0);
  t.deepEqual(
    (await platform.auth.check()).map(({ code }) => code).filter((code) => code.includes('migration')),
    [],
  );
});

/** The header of a token, with the id of its key. */
function headerOf(token: string): string | undefined {
  return token.split('.')[0];
}
