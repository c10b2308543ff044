import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from 'ava';
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, connect, signIn, startPlatform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-at-rest-'));
const database = knex({
  client: 'better-sqlite3',
  connection: { filename: join(folder, 'test.db') },
  useNullAsDefault: true,
});
const KEY = 'a-key-encryption-key-that-is-long-enough';
const COOKIE_KEY = 'a-cookie-key-that-is-long-enough-too-';
const platform = await startPlatform({
  storage: knexStorage(database),
  keyEncryptionKey: KEY,
  cookieKeys: [COOKIE_KEY],
});
test.after.always(async () => {
  await platform[Symbol.asyncDispose]();
  await database.destroy();
  await rm(folder, { recursive: true });
});

/** Every value of every column of every table, as text. */
async function everything(): Promise<string[]> {
  const tables: { name: string }[] = await database('sqlite_master').where({ type: 'table' }).select('name');
  const rows = await Promise.all(
    tables.map(async ({ name }) => (await database(name).select()) as Record<string, unknown>[]),
  );
  return rows.flat().flatMap((row) => Object.values(row).map(String));
}

test('no usable credential of any kind is in the database', async (t) => {
  const app = await platform.registerApp();
  const service = await platform.registerService();
  const added = await platform.auth.clients.addSecret(app.client.id);
  const { verifier, parameters } = pkce();

  // A login and a consent that are open, each in a browser of its own.
  const [arriving, deciding] = [new Browser(), new Browser()];
  const login = await arriving.open(authorizeUrl(platform, app));
  const consent = await signIn(
    deciding,
    await deciding.open(authorizeUrl(platform, app, { scope: 'schools:read' })),
  );
  t.is(consent.heading, 'Authorize Reports');
  // Answered, but not resumed.
  const answered = new Browser();
  const agreeing = await signIn(answered, await answered.open(authorizeUrl(platform, app)));
  await answered.submit(agreeing, 'Authorize');

  // A code that waits, a code that was redeemed, refresh tokens that are spent, sealed, live and revoked.
  const browser = new Browser();
  const waiting = (await authorize(platform, app, { browser, parameters })).get('code')!;
  const redeemed = (await authorize(platform, app, { browser })).get('code')!;
  const client = { client_id: app.client.id, client_secret: app.secret };
  const first = await platform.token({
    grant_type: 'authorization_code',
    ...client,
    redirect_uri: app.redirectUri,
    code: redeemed,
  });
  const refresh = { grant_type: 'refresh_token', ...client };
  const second = await platform.token({ ...refresh, refresh_token: first.body.refresh_token });
  const third = await platform.token({ ...refresh, refresh_token: second.body.refresh_token });
  const revoked = await connect(platform, app, { browser });
  await platform.auth.revoke({ token: revoked.body.refresh_token });
  await platform.auth.revoke({ token: third.body.access_token });
  const ofService = await platform.token({
    grant_type: 'client_credentials',
    client_id: service.client.id,
    client_secret: service.secret,
  });

  const cookies = [arriving, deciding, answered, browser].flatMap((one) => one.cookies);
  t.true(cookies.some(({ name }) => /^gatehouse_session_\d+$/.test(name)));
  t.true(cookies.some(({ name }) => name === 'gatehouse_interaction'));
  t.true(cookies.some(({ name }) => name === 'gatehouse_resume'));
  const credentials = {
    'the secret of an app': app.secret,
    'a second secret': added.value,
    'the secret of a service': service.secret,
    'a code that waits': waiting,
    'a redeemed code': redeemed,
    'a spent refresh token': first.body.refresh_token,
    'another one': second.body.refresh_token,
    'a live one': third.body.refresh_token,
    'a revoked one': revoked.body.refresh_token,
    'an access token': first.body.access_token,
    'a revoked access token': third.body.access_token,
    'an access token of a client': ofService.body.access_token,
    'a verifier': verifier,
    'a password': 'correct horse',
    'the id of an open login': login.url.pathname.split('/').at(-1)!,
    'the id of an open consent': consent.url.pathname.split('/').at(-1)!,
    'the id of an answered consent': agreeing.url.pathname.split('/').at(-1)!,
    'the key-encryption key': KEY,
    'a cookie key': COOKIE_KEY,
    'a private key': '"d":',
    ...Object.fromEntries(cookies.map(({ name, path, value }) => [`${name} of ${path}`, value])),
  };

  const kept = await everything();
  t.true(kept.length > 100, String(kept.length));
  t.true(kept.includes(app.client.id), 'the search finds what is there');
  for (const [what, value] of Object.entries(credentials)) {
    t.is(
      kept.find((text) => text.includes(value) || text.includes(encodeURIComponent(value))),
      undefined,
      what,
    );
  }
  // And so are the files, the write-ahead log included.
  for (const name of await readdir(folder)) {
    const file = await readFile(join(folder, name));
    for (const [what, value] of Object.entries(credentials))
      t.false(file.includes(value), `${what}: ${name}`);
  }

  // All of it still works.
  t.is((await deciding.submit(consent, 'Authorize')).status, 303);
  const end = await answered.follow(await answered.get(agreeing.url));
  t.is(end.status, 200);
  const resumed = await answered.open(
    `${platform.origin}/oauth/authorize/${credentials['the id of an answered consent']}`,
  );
  t.truthy(resumed.location?.searchParams.get('code'));
  t.is((await signIn(arriving, login)).location?.origin, 'https://reports.example');
  const last = await platform.token({
    grant_type: 'authorization_code',
    ...client,
    redirect_uri: app.redirectUri,
    code: waiting,
    code_verifier: verifier,
  });
  t.is(last.status, 200);
  t.is((await platform.token({ ...refresh, refresh_token: third.body.refresh_token })).status, 200);
});
