import test from '../harness/test.ts';
import { calculateJwkThumbprint } from 'jose';

import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import { requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { linkOn, openArea, REPORTS, startArea, valueOf } from './area.ts';

const started = shared(async (stack) => {
  const area = stack.use(await startArea('dora', { clients: { privateKeyJwt: true } }));
  const { auth, browser, open, registerFor, token } = area;
  const pair = await makeKeyPair('key-1');
  const next = await makeKeyPair('key-2', 'RS256');
  return { area, auth, browser, open, registerFor, token, pair, next };
});

const jwks = (...keys: object[]): string => JSON.stringify({ keys });

test('a developer gives an app keys, rotates them, and removes the secret', async (t) => {
  const { registerFor, pair, auth, token, open, browser, area, next } = await started();
  const { client, secret } = await registerFor('dora');
  const byKey = async (by = pair): Promise<number> => {
    const assertion = await assertionParameters(client.id, auth.issuer, by);
    return (await token({ grant_type: 'client_credentials', ...assertion })).status;
  };
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
  t.is((await requestClientToken(area, { client, secret })).status, 200);

  const both = jwks(pair.publicJwk, next.publicJwk);
  t.is((await browser.submit(listed, 'Save', { jwks: both, jwksUri: '' })).status, 303);
  t.deepEqual([await byKey(), await byKey(next)], [200, 200]);
  const stale = await browser.submit(listed, 'Save', { jwks: jwks(pair.publicJwk), jwksUri: '' });
  t.is(stale.status, 409);
  t.true(stale.text.includes('This app was changed after you opened the form'));

  const secrets = await open(`/${client.id}/secrets`);
  const deleted = await browser.submit(await browser.open(linkOn(secrets, '[^"]+/delete"')!), 'Delete');
  const none = await browser.follow(deleted);
  t.true(none.text.includes('It has no secret. It authenticates with its keys.'));
  t.false((await open(`/${client.id}/keys`)).text.includes('also has secrets'));
  t.true((await open(`/${client.id}`)).text.includes('"client_assertion=$CLIENT_ASSERTION"'));

  const confirm = await open(`/${client.id}/keys/remove`);
  t.is(confirm.heading, 'Remove the keys of Nightly import ?');
  const removed = await browser.follow(await browser.submit(confirm, 'Remove the keys'));
  t.true(removed.text.startsWith('The keys are removed.'));
  t.is(await byKey(), 401);
  t.regex((await open(`/${client.id}/activity`)).text, /App changed.*Changed keys/);
});

test('the keys can be at an address, or be a single one', async (t) => {
  const { registerFor, browser, open, auth, pair } = await started();
  const { client } = await registerFor('dora', REPORTS);
  const jwksUri = 'https://reports.example/jwks.json';
  await browser.submit(await open(`/${client.id}/keys`), 'Save', { jwks: '', jwksUri: ` ${jwksUri} ` });
  const after = await open(`/${client.id}/keys`);
  t.true(after.text.includes(`Its keys are read from ${jwksUri}`));
  t.is(valueOf(after, 'jwksUri'), jwksUri);
  t.deepEqual((await auth.clients.find(client.id))?.keys, { jwksUri });
  await browser.submit(after, 'Save', { jwks: JSON.stringify(pair.publicJwk), jwksUri: '' });
  t.deepEqual((await auth.clients.find(client.id))?.keys, { jwks: { keys: [pair.publicJwk] } });
});

test('what is no public key is refused with its reason, and a private key is not sent back', async (t) => {
  const { registerFor, open, next, pair, browser, auth } = await started();
  const { client } = await registerFor('dora');
  const form = await open(`/${client.id}/keys`);
  for (const [keys, jwksUri, problem, field = 'jwks'] of [
    [jwks(next.publicJwk, pair.privateJwk), '', 'Key 2: This is the private key. It has left'],
    ['', '', 'Give the keys, or their address below.'],
    ['<script>', '', 'This is not JSON.'],
    ['[]', '', 'This is not a JSON Web Key Set'],
    [jwks(), '', 'Give 1 to 10 keys.'],
    [jwks(pair.publicJwk), 'https://x.example', 'Give the keys or their address, not both.', 'jwksUri'],
    ['', 'http://x.example', 'Give an address that begins with https:', 'jwksUri'],
    ['', 'https://localhost/', 'This server reads keys from public addresses only.', 'jwksUri'],
  ] as const) {
    const page = await browser.submit(form, 'Save', { jwks: keys, jwksUri });
    t.is(page.status, 422, problem);
    t.true(page.text.includes(problem), problem);
    const described = `aria-describedby="${field}-hint ${field}-problem" aria-invalid="true"`;
    t.regex(page.html, new RegExp(`id="${field}"[^>]* ${described}`));
    t.false(page.html.includes(String(pair.privateJwk.d)));
    t.false(page.html.includes('<script>'));
  }
  t.is((await auth.clients.find(client.id))?.keys, undefined);
});

test('the page exists for own confidential apps, where the server accepts keys', async (t) => {
  const { registerFor, open, area, pair, browser } = await started();
  const { client } = await registerFor('dora');
  t.true((await open(`/${client.id}`)).html.includes('/keys"'));
  const off = await openArea(t);
  for (const [without, page] of [
    [await registerFor('dora', { ...REPORTS, confidential: false }), area],
    [await off.registerFor('dora'), off],
  ] as const) {
    const path = `/${without.client.id}`;
    t.is((await page.open(`${path}/keys`)).url.pathname, `/developer/apps${path}`);
    t.false((await page.open(path)).html.includes('/keys"'));
  }
  const { client: foreign } = await registerFor('emil');
  for (const path of ['/keys', '/keys/remove']) {
    t.is((await open(`/${foreign.id}${path}`)).status, 404);
    const form = new URLSearchParams({ jwks: jwks(pair.publicJwk), jwksUri: '', version: '1' });
    const url = area.url(`/developer/apps/${foreign.id}${path}`);
    t.is((await browser.post(url, form)).status, 404);
  }
});
