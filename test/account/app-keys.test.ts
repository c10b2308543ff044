import test from 'ava';
import { calculateJwkThumbprint } from 'jose';

import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import { REPORTS, openArea, valueOf } from './area.ts';

const ON = { clients: { keys: true } };
const pair = await makeKeyPair('key-1');
const next = await makeKeyPair('key-2', 'RS256');
const jwks = (...keys: object[]): string => JSON.stringify({ keys });

test('a developer gives an app keys, rotates them, and removes the secret', async (t) => {
  const { auth, browser, open, registerFor, token } = await openArea(t, 'dora', ON);
  const { client, secret } = await registerFor('dora');
  const byKey = async (by = pair): Promise<number> =>
    (
      await token({
        grant_type: 'client_credentials',
        ...(await assertionParameters(client.id, auth.issuer, by)),
      })
    ).status;

  const empty = await open(`/${client.id}/keys`);
  t.is(empty.heading, 'Nightly import');
  t.true(empty.text.includes('Only public keys are stored here.'));
  const saved = await browser.submit(empty, 'Save', { jwks: jwks(pair.publicJwk), jwksUri: '' });
  t.is(saved.status, 303);
  const listed = await browser.follow(saved);
  t.true(listed.text.startsWith('Saved.'));
  t.true(listed.text.includes(`key-1 P-256 · SHA-256 ${await calculateJwkThumbprint(pair.publicJwk)}`));
  t.true(listed.text.includes('This app also has secrets, and both are accepted.'));
  t.is(await byKey(), 200);
  t.is(
    (await token({ grant_type: 'client_credentials', client_id: client.id, client_secret: secret })).status,
    200,
  );

  const both = jwks(pair.publicJwk, next.publicJwk);
  t.is((await browser.submit(listed, 'Save', { jwks: both, jwksUri: '' })).status, 303);
  t.deepEqual([await byKey(), await byKey(next)], [200, 200]);
  const stale = await browser.submit(listed, 'Save', { jwks: jwks(pair.publicJwk), jwksUri: '' });
  t.is(stale.status, 409);
  t.true(stale.text.includes('This app was changed after you opened the form'));

  const secrets = await open(`/${client.id}/secrets`);
  const link = /href="([^"]+\/delete)"/.exec(secrets.html)?.[1] ?? '';
  await browser.submit(await browser.open(new URL(link, secrets.url)), 'Delete');
  t.true(
    (await open(`/${client.id}/secrets`)).text.includes('It has no secret. It authenticates with its keys.'),
  );
  t.false((await open(`/${client.id}/keys`)).text.includes('also has secrets'));
  t.true((await open(`/${client.id}`)).text.includes('"client_assertion=$CLIENT_ASSERTION"'));

  const confirm = await open(`/${client.id}/keys/remove`);
  t.is(confirm.heading, 'Remove the keys of Nightly import ?');
  const removed = await browser.follow(await browser.submit(confirm, 'Remove the keys'));
  t.true(removed.text.startsWith('The keys are removed.'));
  t.is(await byKey(), 401);
  const activity = await open(`/${client.id}/activity`);
  t.regex(activity.text, /App changed.*Changed keys/);
});

test('an app reads its keys from an address', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t, 'dora', ON);
  const { client } = await registerFor('dora', REPORTS);
  const form = await open(`/${client.id}/keys`);
  await browser.submit(form, 'Save', { jwks: '', jwksUri: ' https://reports.example/jwks.json ' });
  const after = await open(`/${client.id}/keys`);
  t.true(after.text.includes('Its keys are read from https://reports.example/jwks.json'));
  t.is(valueOf(after, 'jwksUri'), 'https://reports.example/jwks.json');
  t.deepEqual((await auth.clients.find(client.id))?.keys, {
    jwksUri: 'https://reports.example/jwks.json',
  });
});

test('a single key is accepted too', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t, 'dora', ON);
  const { client } = await registerFor('dora');
  const form = await open(`/${client.id}/keys`);
  await browser.submit(form, 'Save', { jwks: JSON.stringify(pair.publicJwk), jwksUri: '' });
  t.deepEqual((await auth.clients.find(client.id))?.keys, { jwks: { keys: [pair.publicJwk] } });
});

test('what is no public key is refused with its reason, and a private key is not sent back', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t, 'dora', ON);
  const { client } = await registerFor('dora');
  const form = await open(`/${client.id}/keys`);
  for (const [fields, problem, field] of [
    [
      { jwks: jwks(next.publicJwk, pair.privateJwk), jwksUri: '' },
      'Key 2: This is the private key. It has left',
      'jwks',
    ],
    [{ jwks: '', jwksUri: '' }, 'Give the keys, or their address below.', 'jwks'],
    [{ jwks: '<script>', jwksUri: '' }, 'This is not JSON.', 'jwks'],
    [{ jwks: '[]', jwksUri: '' }, 'This is not a JSON Web Key Set', 'jwks'],
    [{ jwks: jwks(), jwksUri: '' }, 'Give 1 to 10 keys.', 'jwks'],
    [
      { jwks: jwks(pair.publicJwk), jwksUri: 'https://x.example' },
      'Give the keys or their address, not both.',
      'jwksUri',
    ],
    [{ jwks: '', jwksUri: 'http://x.example' }, 'Give an address that begins with https:', 'jwksUri'],
    [
      { jwks: '', jwksUri: 'https://localhost/' },
      'This server reads keys from public addresses only.',
      'jwksUri',
    ],
  ] as const) {
    const page = await browser.submit(form, 'Save', fields);
    t.is(page.status, 422, problem);
    t.true(page.text.includes(problem), problem);
    t.regex(
      page.html,
      new RegExp(`id="${field}"[^>]* aria-describedby="${field}-hint ${field}-problem" aria-invalid="true"`),
    );
    t.false(page.html.includes(String(pair.privateJwk.d)));
    t.false(page.html.includes('<script>'));
  }
  t.is((await auth.clients.find(client.id))?.keys, undefined);
});

test('the page exists for confidential apps, where the server accepts keys or an app has some', async (t) => {
  const on = await openArea(t, 'dora', ON);
  const { client: publicApp } = await on.registerFor('dora', { ...REPORTS, confidential: false });
  t.is((await on.open(`/${publicApp.id}/keys`)).url.pathname, `/developer/apps/${publicApp.id}`);
  t.false((await on.open(`/${publicApp.id}`)).html.includes('/keys"'));
  const { client: other } = await on.registerFor('emil');
  t.is((await on.open(`/${other.id}/keys`)).status, 404);
  t.is((await on.open(`/${other.id}/keys/remove`)).status, 404);
  const { client } = await on.registerFor('dora');
  t.true((await on.open(`/${client.id}`)).html.includes('/keys"'));

  const off = await openArea(t);
  const { client: without } = await off.registerFor('dora');
  t.is((await off.open(`/${without.id}/keys`)).url.pathname, `/developer/apps/${without.id}`);
  t.false((await off.open(`/${without.id}`)).html.includes('/keys"'));
});

test('a form that another user sends for the app of a developer is refused', async (t) => {
  const { browser, registerFor, url } = await openArea(t, 'emil', ON);
  const { client } = await registerFor('dora');
  const form = new URLSearchParams({ jwks: jwks(pair.publicJwk), jwksUri: '', version: '1' });
  t.is((await browser.post(url(`/developer/apps/${client.id}/keys`), form)).status, 404);
  t.is(
    (await browser.post(url(`/developer/apps/${client.id}/keys/remove`), new URLSearchParams())).status,
    404,
  );
});
