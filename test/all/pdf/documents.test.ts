import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { loadImage } from '@napi-rs/canvas';
import test from '../../harness/test.ts';
import type { Page as Tab } from 'playwright-core';

import { temporaryFile } from '../../adapters/temporary-file.ts';
import { chromiumTest, openTab } from '../browser/chromium.ts';
import { serveExample } from '../../examples/served-example.ts';
import { clientToken } from '../../examples/tokens.ts';
import { violationsOf } from '../../examples/violations.ts';
import { Browser } from '../../harness/browser.ts';
import type { Page } from '../../harness/browser.ts';
import { signIn } from '../../harness/platform.ts';
import { send } from '../../harness/requests.ts';
import { shared } from '../../harness/shared.ts';
import { makePdf } from './make-pdf.ts';

const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { announced } = example;
  const { base_url: baseUrl, users } = announced;
  const { login, password } = users[0]!;
  const url = new URL('/portal/documents', baseUrl);
  const pdf = await makePdf(['Timetable', 'School <b>meals</b>']);
  const locked = await makePdf(['Secret'], { userPassword: 'sesame' });
  const browser = await connect(announced);
  return { example, announced, baseUrl, login, password, url, pdf, locked, browser };
});

const inBrowser = chromiumTest();

type Announced = Awaited<ReturnType<typeof serveExample>>['announced'];

/** A browser of a user who has connected the portal. */
async function connect({ base_url: origin, users: [person] }: Announced): Promise<Browser> {
  const own = new Browser();
  const start = await own.open(`${origin}/portal/connect`);
  const consent = await signIn(own, start, person!.login, person!.password);
  await own.follow(await own.submit(consent, 'Authorize'));
  return own;
}

async function upload(file?: File, own?: Browser, headers: Record<string, string> = {}): Promise<Page> {
  const { browser, url } = await started();
  const form = new FormData();
  if (file) form.set('file', file);
  return (own ?? browser).post(url, form, headers);
}

test.serial('a PDF is uploaded, and its page shows its outline and its pages', async (t) => {
  const { announced, pdf, url, browser } = await started();
  const own = await connect(announced);
  const sent = await upload(new File([pdf], 'Year "2026" <i>.pdf'), own);
  t.is(sent.status, 303);
  const page = await own.follow(sent);
  t.is(page.heading, 'Year "2026" <i>.pdf');
  t.is(
    page.text,
    'Year "2026" <i>.pdf 2 pages Outline ' +
      'Timetable page 1 About timetable page 1 School <b>meals</b> page 2 About school <b>meals</b> page 2 ' +
      'Pages Page 1 Page 2',
  );
  t.regex(page.html, /<li>\s*<a href="#page-1">Timetable<\/a>.*?<ul class="outline">.*?About timetable/s);
  t.regex((await own.open(url)).text, /Yours Year "2026" <i>\.pdf 2 pages/);

  const pictures = Array.from(
    page.html.matchAll(/<img src="([^"]+\/pages\/[^"]+)"/g),
    ([, src]) => new URL(src!, page.url),
  );
  t.is(pictures.length, 2);
  for (const picture of pictures) {
    const response = await fetch(picture, { headers: { cookie: own.cookieField } });
    t.is(response.headers.get('content-type'), 'image/jpeg');
    t.is((await loadImage(Buffer.from(await response.arrayBuffer()))).width, 1200);
    t.is((await fetch(picture, { redirect: 'manual' })).status, 302);
  }
  // The document does not exist for other sessions.
  for (const missing of [page.url, pictures[0]!]) t.is((await browser.get(missing)).status, 404);
  for (const number of ['3', '1.5']) t.is((await own.get(`${page.url.href}/pages/${number}`)).status, 404);
});

const TOO_LARGE = 'This file is too large: 10 MB are the most that this portal takes.';

test('a file that cannot be read is answered with a page that says so, and the form', async (t) => {
  const { locked, url } = await started();
  for (const [file, status, says] of [
    [
      new File(['<html>'], 'a.pdf'),
      422,
      'This file is not a PDF, or it is damaged. Try to open it yourself, or save it anew.',
    ],
    [
      new File([locked], 'a.pdf'),
      422,
      'This PDF is protected by a password. Save a copy without one, and upload that.',
    ],
    [new File([Buffer.alloc(10_485_761)], 'a.pdf'), 413, TOO_LARGE],
    [new File([], 'a.pdf'), 400, 'Choose a PDF first, one that is not empty.'],
    [undefined, 400, 'Choose a PDF first.'],
  ] as const) {
    const page = await upload(file);
    t.is(page.status, status);
    t.true(page.text.startsWith(`${says} Documents`), page.text);
    t.regex(page.html, /<p class="notice problem" role="alert">/);
    t.is(page.actionOf('Upload').href, url.href);
  }
});

test('a form of another site uploads nothing', async (t) => {
  const { pdf, browser, url } = await started();
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const page = await upload(new File([pdf], 'evil.pdf'), browser, headers);
  t.is(page.status, 302);
  t.is(page.location?.pathname, '/portal');
  t.false((await browser.open(url)).text.includes('evil.pdf'));
});

test('every page asks a user to connect the portal first', async (t) => {
  const { baseUrl, pdf } = await started();
  for (const [path, what] of [
    ['/documents', 'documents'],
    ['/documents/2f0c0f3e-0000-4000-8000-000000000000', 'documents'],
    ['/documents/x/pages/1', 'documents'],
    ['/schools/harbour/letter', 'letters'],
  ]) {
    const page = await new Browser().open(`${baseUrl}/portal${path}`);
    t.is(page.url.pathname, '/portal');
    t.true(page.text.startsWith(`Connect your account first to read ${what} here.`), page.text);
  }
  t.is((await upload(new File([pdf], 'a.pdf'), new Browser())).location?.pathname, '/portal');
});

test('the Content-Security-Policy of the pages allows no script', async (t) => {
  const { browser, url } = await started();
  const { headers } = (await browser.open(url)).response;
  t.regex(
    headers.get('content-security-policy') ?? '',
    /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'/,
  );
  t.is(headers.get('cache-control'), 'no-store');
});

test.serial('documents are removed after an hour', async (t) => {
  const { announced, pdf, example, url } = await started();
  const own = await connect(announced);
  const first = await own.follow(await upload(new File([pdf], 'old.pdf'), own));
  const folder = join(example.dataDirectory, 'documents');
  const old = (await readdir(folder)).filter((name) => name.endsWith('.pdf') || name.endsWith('.json'));
  for (const name of old) await utimes(join(folder, name), 0, 0);
  await upload(new File([pdf], 'new.pdf'), own);
  t.is((await own.get(first.url)).status, 404);
  t.regex((await own.open(url)).text, /Yours new\.pdf 2 pages They/);
  t.is((await readdir(folder)).filter((name) => old.includes(name)).length, 0);
  t.deepEqual(await readdir(join(folder, 'incoming')), []);
});

inBrowser('a school’s letter is read in the portal, and its outline among the documents', async (t) => {
  const { announced, baseUrl } = await started();
  const own = await connect(announced);
  const start = await own.open(`${baseUrl}/portal`);
  const [, link = ''] = /href="([^"]+)" aria-label="Letter of Harbour School"/.exec(start.html) ?? [];
  const response = await fetch(new URL(link, start.url), { headers: { cookie: own.cookieField } });
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'application/pdf');
  t.is(response.headers.get('content-disposition'), 'inline; filename="enrolment-letter.pdf"');
  t.is(response.headers.get('x-content-type-options'), 'nosniff');
  const page = await own.follow(await upload(new File([await response.blob()], 'letter.pdf'), own));
  t.is(page.text, 'letter.pdf 1 page Outline Larkfield Schools page 1 Enrolment letter page 1 Pages Page 1');

  const missing = await own.open(`${baseUrl}/portal/schools/nowhere/letter`);
  t.is(missing.url.pathname, '/portal');
  t.regex(missing.text, /^There is no school with this id\./);
});

test('no PDF service is running and Chromium is missing: the responses say what to do', async (t) => {
  const { pdf } = await started();
  const environment = { PDF_BASE_URL: 'http://127.0.0.1:1', CHROMIUM: '/nowhere' };
  await using elsewhere = await serveExample({ environment });
  const own = await connect(elsewhere.announced);
  const form = new FormData();
  form.set('file', new File([pdf], 'a.pdf'));
  const page = await own.post(new URL('/portal/documents', elsewhere.announced.base_url), form);
  t.is(page.status, 503);
  const says = 'The PDF service does not answer. Start it in another terminal: npm run pdf-service Documents';
  t.true(page.text.startsWith(says), page.text);

  const authorization = `Bearer ${await clientToken(elsewhere.announced, 'Nightly import')}`;
  const letter = await send(`${elsewhere.announced.base_url}/api/v1/schools/harbour/letter`, {
    headers: { authorization },
  });
  t.is(letter.status, 501);
  t.like(letter.body, {
    code: 'letters_unavailable',
    message:
      'This server cannot make letters. CHROMIUM: there is no such file; give the path of Chromium or leave it out.',
  });
});

inBrowser(
  'in a browser: refused files, then a PDF with its outline and pages, and the schools',
  async (t) => {
    const { baseUrl, login, password } = await started();
    await using tab = await openTab();
    await tab.goto(`${baseUrl}/portal`);
    await tab.getByRole('link', { name: 'Connect' }).click();
    const field = tab.getByLabel(/email|login/i);
    // Chromium complains of autofocus when something else has the focus by then.
    await field.and(tab.locator(':focus')).waitFor();
    await field.fill(login);
    await tab.getByLabel('Password').fill(password);
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.getByRole('button', { name: 'Authorize' }).click();
    await tab.getByRole('link', { name: 'Documents' }).click();
    t.deepEqual(await violationsOf(tab, 'documents'), []);

    await choose(tab, { name: 'notes.pdf', buffer: Buffer.from('Hello') });
    await tab.getByRole('alert').waitFor();
    t.deepEqual(await violationsOf(tab, 'document-refused'), []);
    // The connection is not reset while the rest arrives.
    // By its path: Playwright would send a buffer of this size to the browser as text.
    const large = temporaryFile();
    await writeFile(large, Buffer.alloc(45_000_000));
    await choose(tab, large);
    await tab.getByText(TOO_LARGE).waitFor();

    const name = 'The school year, in a file with a rather long name.pdf';
    const word = 'A-chapter-whose-name-is-one-word-that-goes-on-for-ever';
    await choose(tab, { name, buffer: await makePdf(['Timetable', 'School meals', word]) });
    await tab.getByRole('heading', { name }).waitFor();
    const pictures = tab.getByRole('img', { name: /^Page \d$/ });
    t.is(await pictures.count(), 3);
    await pictures.last().scrollIntoViewIfNeeded();
    t.is(await pictures.last().evaluate(widthOf), 1200);
    t.deepEqual(await violationsOf(tab, 'document'), []);
    await tab.getByRole('link', { name: 'School meals', exact: true }).click();
    t.is(new URL(tab.url()).hash, '#page-2');

    await tab.getByRole('link', { name: 'Schools' }).click();
    await tab.getByRole('link', { name: 'Letter of Harbour School' }).waitFor();
    t.deepEqual(await violationsOf(tab, 'schools'), []);
    t.deepEqual(tab.consoleMessages, []);
  },
);

async function choose(tab: Tab, file: string | { name: string; buffer: Buffer }): Promise<void> {
  const chosen = typeof file === 'string' ? file : { ...file, mimeType: 'application/pdf' };
  await tab.getByLabel('PDF, 10 MB at most').setInputFiles(chosen);
  await tab.getByRole('button', { name: 'Upload' }).click();
}

/** Runs in the browser. */
async function widthOf(node: unknown): Promise<number> {
  const image = node as { decode(): Promise<void>; readonly naturalWidth: number };
  await image.decode();
  return image.naturalWidth;
}
