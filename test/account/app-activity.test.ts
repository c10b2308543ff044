import test from 'ava';

import { openArea } from './area.ts';

test('the activity page shows why a token request failed', async (t) => {
  const { open, registerFor, token } = await openArea(t);
  const { client, secret } = await registerFor('dora');
  t.true((await open(`/${client.id}/activity`)).text.includes('App created'));
  const request = { grant_type: 'client_credentials', client_id: client.id };
  await token({ ...request, client_secret: secret });
  await token({ ...request, client_secret: 'wrong-secret-that-no-page-shows' });
  const page = await open(`/${client.id}/activity`);
  t.true(page.text.includes('Token issued'));
  t.regex(page.text, /Token request refused .* Error invalid_client Why \w+/);
  t.true(page.text.includes('From 127.0.0.1'));
  t.false(page.html.includes('that-no-page-shows'));
  t.false(page.html.includes(secret));
});

test('the activity is paged', async (t) => {
  const { browser, open, registerFor, token } = await openArea(t);
  const { client, secret } = await registerFor('dora');
  for (let count = 0; count < 40; count += 1) {
    await token({ grant_type: 'client_credentials', client_id: client.id, client_secret: secret });
  }
  const first = await open(`/${client.id}/activity`);
  t.is(first.text.split('Token issued').length - 1, 30);
  const older = /href="([^"]+)" rel="next"/.exec(first.html)?.[1] ?? '';
  const second = await browser.open(new URL(older, first.url));
  t.is(second.text.split('Token issued').length - 1, 10);
  t.true(second.text.includes('App created'));
  t.true(second.text.includes('Newest'));
  for (const before of ['x', '1', '1.', '.1', '9'.repeat(20), '0.x', '1.%00', '1.\u202E']) {
    t.is((await open(`/${client.id}/activity?before=${encodeURIComponent(before)}`)).status, 200, before);
  }
});
