import test from 'ava';

import type { Page } from '../harness/browser.ts';
import { REPORTS, openArea } from './area.ts';

test('an empty list explains what apps are', async (t) => {
  const { open } = await openArea(t);
  const page = await open();
  t.is(page.status, 200);
  t.true(page.text.includes('No apps yet An app gets tokens here'));
  t.true(page.html.includes('href="/developer/apps/new"'));
  t.true(
    (await open('?search=x')).text.includes('begins with this in its name, or this client ID. Show all'),
  );
});

test('the list can be searched by name, and is paged', async (t) => {
  const { browser, open, registerFor } = await openArea(t);
  for (let number = 1; number <= 60; number += 1) {
    await registerFor('dora', { name: `Import ${String(number).padStart(2, '0')}` });
  }
  await registerFor('dora', { name: 'Reports & more' });

  const first = await open('?search=import');
  t.is(names(first).length, 25);
  const second = await browser.open(new URL(next(first), first.url));
  t.deepEqual(names(second)[0], 'Import 26');
  const third = await browser.open(new URL(next(second), first.url));
  t.deepEqual(
    names(third),
    Array.from({ length: 10 }, (_, index) => `Import ${index + 51}`),
  );
  t.is(next(third), '');
  t.true(third.text.includes('First page'));
  t.deepEqual(names(await open('?search=Reports%20%26')), ['Reports &amp; more']);

  const odd = [
    '?after=nothing',
    '?search=%00&after=x',
    '?search=a&search=b',
    '?done=%3Cscript%3E',
    '?after=%FF',
  ];
  for (const query of odd) {
    const page = await open(query);
    t.is(page.status, 200, query);
    t.is(page.heading, 'Your apps', query);
  }
});

test('an administrator sees all apps and their owners, and can make an app first-party', async (t) => {
  const { auth, browser, open, registerFor } = await openArea(t, 'root');
  const { client } = await registerFor('dora', REPORTS);
  await registerFor('root', { name: 'Own' });
  const list = await open();
  t.is(list.heading, 'All apps');
  t.true(list.text.includes('The apps of all people, also those that nobody has registered.'));
  t.regex(list.html, /aria-current="page">All apps</);
  t.false(list.html.includes('Your apps'));
  t.regex(list.text, /Own Yours/);
  t.notRegex(list.text, /Reports Yours/);
  const page = await open(`/${client.id}`);
  t.regex(page.html, /class="above"><a href="\/developer\/apps">All apps</);
  t.true(page.text.includes('Owner dora@school.example'));
  const fields = { name: 'Reports', redirectUris: 'https://reports.example/callback' };
  await browser.submit(page, 'Save', { ...fields, firstParty: 'yes' });
  t.like(await auth.clients.find(client.id), { firstParty: true, ownerId: 'dora' });
  await browser.submit(await open(`/${client.id}`), 'Save', fields);
  t.like(await auth.clients.find(client.id), { firstParty: false });
});

function names(page: Page): string[] {
  return [...page.html.matchAll(/<bdi>((?:Import|Rep)[^<]*)</g)].map(([, name]) => name!);
}

function next(page: Page): string {
  return /href="([^"]+)" rel="next"/.exec(page.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
}
