import { createDecipheriv, createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabase, sqlite } from '../adapters/databases.ts';
import type { TestDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';

const KEY = 'a-key-encryption-key-that-is-long-enough';
const COOKIE_KEY = 'a-cookie-key-that-is-long-enough-too-';

/** Every value of every column of every table, as text. */
async function everyValue(database: TestDatabase, address: string): Promise<string[]> {
  const tables = await contentsOf(database, address);
  return [...tables.values()].flat().flatMap((row) => Object.values(row).map(textOf));
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Every byte of the files of an SQLite database, the write-ahead log included. */
function everyFile({ client }: TestDatabase, address: string): Buffer[] {
  if (client !== 'better-sqlite3') return [];
  return globSync(`${address.slice('sqlite:'.length)}*`).map((file) => readFileSync(file));
}

onEachDatabase('no usable credential of any kind is in the database', async (t, database, address) => {
  await using platform = await startPlatform({
    storage: knexStorage(address),
    secrets: { keyEncryptionKey: KEY, cookieKeys: [COOKIE_KEY] },
  });
  const app = await platform.registerApp();
  const service = await platform.registerService();
  const added = await platform.auth.clients.addSecret(app.client.id);
  const { verifier, parameters } = pkce();

  // An open login page and an open consent page, each in its own browser.
  const [arriving, deciding] = [new Browser(), new Browser()];
  const login = await arriving.open(authorizeUrl(platform, app));
  const consent = await signIn(
    deciding,
    await deciding.open(authorizeUrl(platform, app, { scope: 'schools:read' })),
  );
  t.is(consent.heading, 'Authorize Reports');
  // A consent whose redirect is not followed yet.
  const answered = new Browser();
  const consented = await signIn(answered, await answered.open(authorizeUrl(platform, app)));
  const { location: next } = await answered.submit(consented, 'Authorize');

  // An unused and a used code; used, unused and revoked refresh tokens.
  const browser = new Browser();
  const waiting = (await authorize(platform, app, { browser, parameters })).get('code')!;
  const redeemed = (await authorize(platform, app, { browser })).get('code')!;
  const first = await exchangeCode(platform, app, redeemed);
  const second = await exchangeRefreshToken(platform, app, first.body.refresh_token);
  const third = await exchangeRefreshToken(platform, app, second.body.refresh_token);
  const revoked = await runCodeFlow(platform, app, { browser });
  await platform.auth.revoke({ token: revoked.body.refresh_token });
  await platform.auth.revoke({ token: third.body.access_token });
  const ofService = await requestClientToken(platform, service);

  const cookies = [arriving, deciding, answered, browser].flatMap((one) => one.cookies);
  t.true(cookies.some(({ name }) => /^gatehouse_session_\d+$/.test(name)));
  const credentials = {
    'the secret of an app': app.secret,
    'a second secret': added.value,
    'the secret of a service': service.secret,
    'an unused code': waiting,
    'a used code': redeemed,
    'a used refresh token': first.body.refresh_token,
    'a second used refresh token': second.body.refresh_token,
    'an unused refresh token': third.body.refresh_token,
    'a revoked refresh token': revoked.body.refresh_token,
    'an access token': first.body.access_token,
    'a revoked access token': third.body.access_token,
    'an access token of a client': ofService.body.access_token,
    'a verifier': verifier,
    'a password': 'correct horse',
    'the id of an open login': login.url.pathname.split('/').at(-1)!,
    'the id of an open consent': consent.url.pathname.split('/').at(-1)!,
    'the id of an answered consent': consented.url.pathname.split('/').at(-1)!,
    'the key-encryption key': KEY,
    'a cookie key': COOKIE_KEY,
    'a private key': '"d":',
    ...Object.fromEntries(cookies.map(({ name, path, value }) => [`${name} of ${path}`, value])),
  };

  const values = await everyValue(database, address);
  t.true(values.length > 100, String(values.length));
  t.true(values.includes(app.client.id), 'the search finds a value that is stored');
  const files = everyFile(database, address);
  t.is(files.length > 0, database.name === 'SQLite');
  for (const [what, value] of Object.entries(credentials)) {
    for (const text of [value, encodeURIComponent(value)])
      t.false(
        [...values, ...files].some((one) => one.includes(text)),
        what,
      );
  }

  // The credentials still work.
  t.is((await deciding.submit(consent, 'Authorize')).status, 303);
  t.truthy((await answered.open(next!)).location?.searchParams.get('code'));
  t.is((await signIn(arriving, login)).location?.origin, 'https://reports.example');
  t.is((await exchangeCode(platform, app, waiting, { code_verifier: verifier })).status, 200);
  t.is((await exchangeRefreshToken(platform, app, third.body.refresh_token)).status, 200);
});

/** Decrypts a sealed successor with a presented token: one-step key derivation (SP 800-56C) and AES-256-GCM. */
function decryptWith(presented: string, sealed: string): string {
  const key = createHash('sha256')
    .update(`\0\0\0\u0001${presented}koa-gatehouse refresh token successor`)
    .digest();
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 });
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString();
}

onEachDatabase(
  'the sealed successor of a refresh token is decrypted by the used token only',
  async (t, database, address) => {
    await using platform = await startPlatform({ storage: knexStorage(address) });
    const app = await platform.registerApp();
    const { body: first } = await runCodeFlow(platform, app);
    const { body: second } = await exchangeRefreshToken(platform, app, first.refresh_token);
    const rows = (await contentsOf(database, address)).get('gatehouse_credentials')!;
    const [row, ...others] = rows.filter((one) => one['sealed_successor'] !== null);
    t.deepEqual(others, []);
    const sealed = String(row!['sealed_successor']);
    t.is(decryptWith(first.refresh_token, sealed), second.refresh_token);
    // The empty string, the successor itself and each value of the database do not decrypt it.
    for (const wrong of ['', second.refresh_token, ...(await everyValue(database, address))]) {
      t.throws(() => decryptWith(wrong, sealed), undefined, wrong);
    }
  },
  [sqlite],
);
