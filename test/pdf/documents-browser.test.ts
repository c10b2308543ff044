import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import axe from 'axe-core';
import type { Page } from 'playwright-core';

import { chromiumTest, openTab } from '../browser/chromium.ts';
import { startForScripts, temporaryDirectory } from '../examples/running-example.ts';
import { makePdf } from './make-pdf.ts';

const SCREENSHOTS = join(import.meta.dirname, '../screenshots');
const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
  { colorScheme: 'light', viewport: { width: 320, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 320, height: 800 } },
] as const;

const directory = await temporaryDirectory();
const { announced, ...example } = await startForScripts({ dataDirectory: directory.path });
const pdf = await makePdf([
  'Timetable',
  'School meals',
  'A-chapter-whose-name-is-one-word-that-goes-on-for-ever',
]);
const file = {
  name: 'The school year, in a file with a rather long name.pdf',
  mimeType: 'application/pdf',
  buffer: pdf,
};

const test = chromiumTest();

test.after.always(async () => {
  await example.stop();
  await directory[Symbol.asyncDispose]();
});

async function connect(page: Page): Promise<void> {
  const { login, password } = announced.users[0]!;
  await page.goto(`${announced.base_url}/portal`);
  await page.getByRole('link', { name: 'Connect' }).click();
  await page.getByLabel(/email|login/i).fill(login);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  const authorize = page.getByRole('button', { name: 'Authorize' });
  const documents = page.getByRole('link', { name: 'Documents' });
  await authorize.or(documents).waitFor();
  if (await authorize.isVisible()) await authorize.click();
  await documents.click();
}

/** Looks at a page as people with little sight and small screens do; keeps a picture of it. */
async function inspect(page: Page, name: string): Promise<{ faults: string[]; overflows: boolean }> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const { width } = page.viewportSize()!;
  const scheme = await page.evaluate<string>(
    `matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'`,
  );
  await page.screenshot({ path: join(SCREENSHOTS, `${name}-${scheme}-${width}.png`), fullPage: true });
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => axe.run());
  const overflows = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
  return { faults: violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), overflows };
}

/** Runs in the browser. */
async function widthOf(node: unknown): Promise<number> {
  const image = node as { decode(): Promise<void>; readonly naturalWidth: number };
  await image.decode();
  return image.naturalWidth;
}

for (const look of LOOKS) {
  test(`upload a PDF, see its outline and its pages: ${look.colorScheme}, ${look.viewport.width} px`, async (t) => {
    await using page = await openTab(look);
    await connect(page);
    t.deepEqual(await inspect(page, 'documents'), { faults: [], overflows: false });

    await page.getByLabel('PDF, 10 MB at most').setInputFiles(file);
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByRole('heading', { name: file.name }).waitFor();

    const pictures = page.getByRole('img', { name: /^Page \d$/ });
    t.is(await pictures.count(), 3);
    for (const picture of await pictures.all()) {
      await picture.scrollIntoViewIfNeeded();
      t.is(await picture.evaluate(widthOf), 1200);
    }
    t.deepEqual(await inspect(page, 'document'), { faults: [], overflows: false });

    await page.getByRole('link', { name: 'School meals', exact: true }).click();
    t.is(new URL(page.url()).hash, '#page-2');
    t.deepEqual(page.complaints, []);
  });
}

test('a file that is too large: the browser shows the page that says so, not a lost connection', async (t) => {
  await using page = await openTab(LOOKS[0]);
  await connect(page);
  for (const size of [12_000_000, 45_000_000]) {
    const large = join(directory.path, 'large.pdf');
    await writeFile(large, Buffer.alloc(size));
    await page.getByLabel('PDF, 10 MB at most').setInputFiles(large);
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByRole('alert').waitFor();
    t.is(
      await page.getByRole('alert').innerText(),
      'This file is too large: 10 MB are the most that this portal takes.',
    );
    await page.goto(`${announced.base_url}/portal/documents`);
  }
});

test('a file that is no PDF: the page says so, and looks well', async (t) => {
  for (const look of LOOKS) {
    await using page = await openTab(look);
    await connect(page);
    const text = { name: 'notes.pdf', mimeType: 'application/pdf', buffer: Buffer.from('Hello') };
    await page.getByLabel('PDF, 10 MB at most').setInputFiles(text);
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByRole('alert').waitFor();
    t.deepEqual(await inspect(page, 'document-refused'), { faults: [], overflows: false });
  }
});
