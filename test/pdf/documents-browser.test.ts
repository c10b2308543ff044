// Alone, first: it starts a browser and waits for documents.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import test from 'ava';
import type { Page } from 'playwright-core';

import { chromiumTest, openTab } from '../browser/chromium.ts';
import { startForScripts, temporaryDirectory } from '../examples/running-example.ts';
import { violationsOf } from '../examples/violations.ts';
import { makePdf } from './make-pdf.ts';

const directory = await temporaryDirectory();
const { announced, ...example } = await startForScripts({ dataDirectory: directory.path });
const pdf = await makePdf([
  'Timetable',
  'School meals',
  'A-chapter-whose-name-is-one-word-that-goes-on-for-ever',
]);

const browserTest = chromiumTest();

test.after.always(async () => {
  await example.stop();
  await directory[Symbol.asyncDispose]();
});

browserTest('upload a PDF, and see its outline and its pages', async (t) => {
  await using page = await openTab();
  await connect(page);
  t.deepEqual(await violationsOf(page, 'documents'), []);

  const name = 'The school year, in a file with a rather long name.pdf';
  await choose(page, { name, mimeType: 'application/pdf', buffer: pdf });
  await page.getByRole('heading', { name }).waitFor();
  const pictures = page.getByRole('img', { name: /^Page \d$/ });
  t.is(await pictures.count(), 3);
  for (const picture of await pictures.all()) {
    await picture.scrollIntoViewIfNeeded();
    t.is(await picture.evaluate(widthOf), 1200);
  }
  t.deepEqual(await violationsOf(page, 'document'), []);

  await page.getByRole('link', { name: 'School meals', exact: true }).click();
  t.is(new URL(page.url()).hash, '#page-2');
  t.deepEqual(page.consoleMessages, []);
});

browserTest('the schools, each with a link to its letter', async (t) => {
  await using page = await openTab();
  await connect(page);
  await page.getByRole('link', { name: 'Schools' }).click();
  const link = page.getByRole('link', { name: 'Letter of Harbour School' });
  await link.waitFor();
  t.deepEqual(await violationsOf(page, 'schools'), []);
  const letter = await page.request.get(new URL((await link.getAttribute('href'))!, page.url()).href);
  t.is(letter.status(), 200);
  t.is(letter.headers()['content-type'], 'application/pdf');
  t.deepEqual(page.consoleMessages, []);
});

browserTest('a file that is not a PDF: the page says so, and another file can be uploaded', async (t) => {
  await using page = await openTab();
  await connect(page);
  await choose(page, { name: 'notes.pdf', mimeType: 'application/pdf', buffer: Buffer.from('Hello') });
  await page.getByRole('alert').waitFor();
  t.deepEqual(await violationsOf(page, 'document-refused'), []);
  await choose(page, { name: 'year.pdf', mimeType: 'application/pdf', buffer: pdf });
  await page.getByRole('heading', { name: 'year.pdf' }).waitFor();
  t.pass();
});

browserTest('a file that is too large: the page says so, and the connection is not reset', async (t) => {
  await using page = await openTab();
  await connect(page);
  const path = join(directory.path, 'large.pdf');
  for (const size of [12_000_000, 45_000_000]) {
    await writeFile(path, Buffer.alloc(size));
    await choose(page, path);
    await page.getByRole('alert').waitFor();
    t.is(
      await page.getByRole('alert').innerText(),
      'This file is too large: 10 MB are the most that this portal takes.',
    );
    await page.goto(`${announced.base_url}/portal/documents`);
  }
});

/** Connects the portal and opens its documents. */
async function connect(page: Page): Promise<void> {
  const { login, password } = announced.users[0]!;
  await page.goto(`${announced.base_url}/portal`);
  await page.getByRole('link', { name: 'Connect' }).click();
  const field = page.getByLabel(/email|login/i);
  // Chromium complains of autofocus when something else has the focus by then.
  await field.and(page.locator(':focus')).waitFor();
  await field.fill(login);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // The consent page is shown once per user and app; another test may have been first.
  const authorize = page.getByRole('button', { name: 'Authorize' });
  const documents = page.getByRole('link', { name: 'Documents' });
  await authorize.or(documents).waitFor();
  if (await authorize.isVisible()) await authorize.click();
  await documents.click();
}

async function choose(page: Page, file: Parameters<Page['setInputFiles']>[1]): Promise<void> {
  await page.getByLabel('PDF, 10 MB at most').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload' }).click();
}

/** Runs in the browser. */
async function widthOf(node: unknown): Promise<number> {
  const image = node as { decode(): Promise<void>; readonly naturalWidth: number };
  await image.decode();
  return image.naturalWidth;
}
