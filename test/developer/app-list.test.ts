import test from '../harness/test.ts';

import type { Page } from '../harness/browser.ts';
import { nextPageOn, openArea, REPORTS } from './area.ts';

test('the list explains what apps are when it is empty, can be searched by name, and is paged', async (t) => {
  const { browser, open, registerFor } = await openArea(t);
  const empty = await open();
  t.is(empty.status, 200);
  t.true(empty.text.includes('No apps yet An app gets tokens here'));
  t.true(empty.html.includes('href="/developer/apps/new"'));
  t.false(empty.html.includes('role="search"'));
  const none = await open('?search=x');
  t.true(none.text.includes('begins with this in its name, or this client ID. Show all'));

  for (let number = 1; number <= 30; number += 1)
    await registerFor('dora', { name: `Import ${String(number).padStart(2, '0')}` });
  await registerFor('dora', { name: 'Later' });
  await registerFor('dora', { name: 'Reports & more' });
  const first = await open('?search=import');
  t.is(names(first).length, 25);
  const second = await browser.open(nextPageOn(first)!);
  const rest = ['Import 26', 'Import 27', 'Import 28', 'Import 29', 'Import 30'];
  t.deepEqual(names(second), rest);
  t.is(nextPageOn(second), undefined);
  t.true(second.text.includes('First page'));
  t.deepEqual(names(await open('?search=Reports%20%26')), ['Reports &amp; more']);
  const odd = ['after=nothing', 'search=%00&after=x', 'search=a&search=b', 'done=%3Cscript%3E', 'after=%FF'];
  for (const query of odd) {
    const page = await open(`?${query}`);
    t.deepEqual([page.status, page.heading], [200, 'Your apps'], query);
  }
});

test('an administrator sees all apps and their owners, and can make an app first-party', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t, 'root');
  const { client } = await registerFor('dora', REPORTS);
  await registerFor('root', { name: 'Own' });
  await registerFor(undefined, { name: 'Unowned' });
  const list = await open();
  t.is(list.heading, 'All apps');
  t.true(list.text.includes('The apps of all people, also those that nobody has registered.'));
  t.regex(list.html, /aria-current="page">All apps</);
  t.false(list.html.includes('Your apps'));
  t.regex(list.text, /Own Yours/);
  t.notRegex(list.text, /Reports Yours/);
  t.true(list.text.includes('Unowned'));
  const page = await open(`/${client.id}`);
  t.regex(page.html, /class="above"><a href="\/developer\/apps">All apps</);
  t.true(page.text.includes('Owner dora@school.example'));
  const settings = await open(`/${client.id}/settings`);
  const fields = { name: 'Reports', redirectUris: 'https://reports.example/callback' };
  await browser.submit(settings, 'Save', { ...fields, firstParty: 'yes' });
  t.like(await auth.clients.find(client.id), { firstParty: true, ownerId: 'dora' });
  await browser.submit(await open(`/${client.id}/settings`), 'Save', fields);
  t.like(await auth.clients.find(client.id), { firstParty: false });
});

function names(page: Page): string[] {
  return [...page.html.matchAll(/<bdi>((?:Import|Later|Rep)[^<]*)</g)].map(([, name]) => name!);
}
