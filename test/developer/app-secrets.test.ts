import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { around } from '../harness/storage.ts';
import { requestClientToken } from '../harness/tokens.ts';
import { until } from '../harness/until.ts';
import { shared } from '../harness/shared.ts';
import { openArea, REPORTS, startArea, valueOf } from './area.ts';

const started = shared(async (stack) => {
  const area = stack.use(await startArea());
  const { auth, browser, open, registerFor } = area;
  return { area, auth, browser, open, registerFor };
});

test('a secret is added beside the first, used, and deleted', async (t) => {
  const { registerFor, area, open, browser } = await started();
  const { client, secret } = await registerFor('dora');
  const statusWith = async (value: string): Promise<number> =>
    (await requestClientToken(area, { client, secret: value })).status;
  t.is(await statusWith(secret), 200);
  let list = await open(`/${client.id}/secrets`);
  t.true(list.text.includes(`ends in ${secret.slice(-4)}`));
  t.true(list.text.includes('Never expires'));
  await until(async () => {
    list = await open(`/${client.id}/secrets`);
    return list.text.includes('Last used');
  });
  t.regex(list.text, /Last used \w+ \d+, \d{4}, \d\d:\d\d UTC/);
  t.false(list.html.includes(secret));

  const fields = { label: ' production, May ', expires: '90' };
  const added = await browser.submit(list, 'Add a secret', fields);
  t.is(added.status, 200);
  t.is(added.heading, 'A new secret of Nightly import');
  const fresh = valueOf(added, 'secret');
  t.is(await statusWith(fresh), 200);
  t.is(await statusWith(secret), 200);

  const again = await browser.submit(list, 'Add a secret', fields);
  t.is(again.status, 303);
  const after = await browser.follow(again);
  t.true(after.text.startsWith('This form was sent before: the secret is added'));
  t.is(after.text.split('production, May').length, 3);
  t.regex(after.text, /production, May.*Expires \w+ \d+, \d{4}/);

  const [, link = ''] = /<bdi>first<[^]*?href="([^"]+\/delete)"/.exec(after.html) ?? [];
  const confirm = await browser.open(new URL(link, after.url));
  t.is(confirm.heading, 'Delete the secret first ?');
  t.true(confirm.text.includes('Wherever Nightly import still uses it, it gets no more tokens.'));
  const removed = await browser.submit(confirm, 'Delete');
  t.is(removed.status, 303);
  t.true((await browser.follow(removed)).text.startsWith('The secret is deleted.'));
  t.is(await statusWith(secret), 401);
  t.is(await statusWith(fresh), 200);
  t.is((await browser.submit(confirm, 'Delete')).status, 303);
  t.is((await browser.open(new URL(link, after.url))).status, 404);
});

test('a wrong label or expiry, and more than 20 secrets, are refused', async (t) => {
  const { registerFor, open, browser, auth } = await started();
  const { client } = await registerFor('dora');
  const list = await open(`/${client.id}/secrets`);
  const long = await browser.submit(list, 'Add a secret', { label: 'x'.repeat(101), expires: '' });
  t.is(long.status, 422);
  t.true(long.text.includes('at most 100 characters'));
  t.regex(long.html, /id="label"[^>]* aria-describedby="label-hint label-problem" aria-invalid="true"/);
  for (const expires of ['1', '-1', 'never', '1e9', '90 ']) {
    const page = await browser.submit(list, 'Add a secret', { label: 'May', expires });
    t.is(page.status, 422, expires);
    t.true(page.text.includes('Choose when the secret expires.'), expires);
    t.is(valueOf(page, 'label'), 'May');
  }
  for (let count = 1; count < 20; count += 1) await auth.clients.addSecret(client.id, {});
  const full = await browser.submit(list, 'Add a secret', { label: '', expires: '' });
  t.is(full.status, 422);
  t.true(full.text.includes('The app has 20 secrets, the most that there can be. Delete one first.'));
});

test('a public app has no secrets, and its page explains why', async (t) => {
  const { registerFor, open, browser, auth } = await started();
  const { client } = await registerFor('dora', { ...REPORTS, confidential: false });
  const page = await open(`/${client.id}/secrets`);
  t.true(page.text.includes('It proves itself by PKCE instead.'));
  t.false(page.html.includes('<form'));
  const form = new URLSearchParams({ once: 'x'.repeat(20), label: '', expires: '' });
  t.is((await browser.post(page.url, form)).status, 303);
  t.deepEqual(await auth.clients.secrets(client.id), []);
});

test('no secret is stored, logged or in a URL', async (t) => {
  const rows: string[] = [];
  const storage = around(memoryStorage(), async (name, call) => {
    const result = await call();
    rows.push(name, JSON.stringify(result) ?? '');
    return result;
  });
  const own = await openArea(t, 'dora', { storage });
  const fields = { name: 'Nightly', grantType: 'client_credentials' };
  const created = await own.browser.submit(await own.open('/new'), 'Create app', fields);
  const path = `/${valueOf(created, 'client-id')}`;
  const form = { label: 'May', expires: '' };
  const added = await own.browser.submit(await own.open(`${path}/secrets`), 'Add a secret', form);
  await own.open(`${path}/activity`);
  for (const secret of [valueOf(created, 'secret'), valueOf(added, 'secret')]) {
    t.true(secret.length > 50);
    t.false(rows.join('\n').includes(secret));
    t.false(JSON.stringify(own.logger.lines).includes(secret));
    t.false([created.url.href, added.url.href].join(' ').includes(secret));
  }
});
