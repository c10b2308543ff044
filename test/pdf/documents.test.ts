import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';

import { loadImage } from '@napi-rs/canvas';
import test from 'ava';

import { needsChromium } from '../browser/chromium.ts';
import { startForScripts, temporaryDirectory } from '../examples/running-example.ts';
import { clientToken } from '../examples/tokens.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { send } from '../harness/requests.ts';
import { makePdf } from './make-pdf.ts';

const directory = await temporaryDirectory();
const { announced, ...example } = await startForScripts({ dataDirectory: directory.path });
const url = new URL('/portal/documents', announced.base_url);
const pdf = await makePdf(['Timetable', 'School <b>meals</b>']);
const locked = await makePdf(['Secret'], { userPassword: 'sesame' });
const browser = await connect();

test.after.always(async () => {
  await example.stop();
  await directory[Symbol.asyncDispose]();
});

/** A browser of a user who has connected the portal. */
async function connect(): Promise<Browser> {
  const own = new Browser();
  const { login, password } = announced.users[0]!;
  let page = await own.open(`${announced.base_url}/portal/connect`);
  page = await own.follow(await own.submit(page, 'Sign in', { login, password }));
  if (page.heading.startsWith('Authorize')) await own.follow(await own.submit(page, 'Authorize'));
  return own;
}

async function upload(
  file?: File,
  headers: Record<string, string> = {},
  own: Browser = browser,
): Promise<Page> {
  const form = new FormData();
  if (file) form.set('file', file);
  return own.post(url, form, headers);
}

test.serial('a PDF is uploaded, and its page shows its outline and its pages', async (t) => {
  const own = await connect();
  const sent = await upload(new File([pdf], 'Year "2026" <i>.pdf'), {}, own);
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

  const pictures = [...page.html.matchAll(/<img src="([^"]+\/pages\/[^"]+)"/g)].map(
    ([, src]) => new URL(src!, page.url),
  );
  t.is(pictures.length, 2);
  for (const picture of pictures) {
    const [, cookie = ''] = /(partner_portal=[^;]+)/.exec(cookieOf(own)) ?? [];
    const response = await fetch(picture, { headers: { cookie } });
    t.is(response.headers.get('content-type'), 'image/jpeg');
    t.is((await loadImage(Buffer.from(await response.arrayBuffer()))).width, 1200);
    t.is((await fetch(picture, { redirect: 'manual' })).status, 302);
  }

  const list = await own.open(url);
  t.regex(list.text, /Yours Year "2026" <i>\.pdf 2 pages/);
  // The document does not exist for other sessions.
  t.is((await browser.get(page.url)).status, 404);
  t.is((await browser.get(pictures[0]!)).status, 404);
  t.is((await own.get(`${page.url.href}/pages/3`)).status, 404);
  t.is((await own.get(`${page.url.href}/pages/1.5`)).status, 404);
});

function cookieOf({ cookies }: Browser): string {
  return cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
}

for (const [what, file, status, says] of [
  [
    'a file that is not a PDF',
    new File(['<html>'], 'a.pdf'),
    422,
    'This file is not a PDF, or it is damaged. Try to open it yourself, or save it anew.',
  ],
  [
    'a PDF with a password',
    new File([locked], 'a.pdf'),
    422,
    'This PDF is protected by a password. Save a copy without one, and upload that.',
  ],
  [
    'a PDF that is too large',
    new File([Buffer.alloc(10_485_761)], 'a.pdf'),
    413,
    'This file is too large: 10 MB are the most that this portal takes.',
  ],
  ['an empty file', new File([], 'a.pdf'), 400, 'Choose a PDF first, one that is not empty.'],
  ['no file', undefined, 400, 'Choose a PDF first.'],
] as const) {
  test(`${what} is answered with a page that says so, and the form`, async (t) => {
    const page = await upload(file);
    t.is(page.status, status);
    t.is(page.heading, 'Documents');
    t.true(page.text.startsWith(`${says} Documents`), page.text);
    t.regex(page.html, /<p class="notice problem" role="alert">/);
    t.is(page.actionOf('Upload').href, url.href);
  });
}

test('a form of another site uploads nothing', async (t) => {
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const page = await upload(new File([pdf], 'evil.pdf'), headers);
  t.is(page.status, 302);
  t.is(page.location?.pathname, '/portal');
  t.false((await browser.open(url)).text.includes('evil.pdf'));
});

test('every page asks a user to connect the portal first', async (t) => {
  for (const path of ['', '/2f0c0f3e-0000-4000-8000-000000000000', '/x/pages/1']) {
    const other = new Browser();
    const page = await other.open(url.href + path);
    t.is(page.url.pathname, '/portal');
    t.regex(page.text, /^Connect your account first to read documents here\./);
  }
  t.is((await upload(new File([pdf], 'a.pdf'), {}, new Browser())).location?.pathname, '/portal');
});

test('the Content-Security-Policy of the pages allows no script', async (t) => {
  const page = await browser.open(url);
  t.regex(
    page.response.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'/,
  );
  t.false(page.html.includes('<script'));
  t.is(page.response.headers.get('cache-control'), 'no-store');
});

test.serial('documents are removed after an hour', async (t) => {
  const own = await connect();
  const first = await own.follow(await upload(new File([pdf], 'old.pdf'), {}, own));
  const folder = join(directory.path, 'documents');
  const old = (await readdir(folder)).filter((name) => name.endsWith('.pdf') || name.endsWith('.json'));
  for (const name of old) await utimes(join(folder, name), 0, 0);
  const second = await own.follow(await upload(new File([pdf], 'new.pdf'), {}, own));
  t.is(second.heading, 'new.pdf');
  t.is((await own.get(first.url)).status, 404);
  t.regex((await own.open(url)).text, /Yours new\.pdf 2 pages They/);
  t.is((await readdir(folder)).filter((name) => old.includes(name)).length, 0);
  t.deepEqual(await readdir(join(folder, 'incoming')), []);
});

needsChromium()('a school’s letter is read in the portal, and its outline among the documents', async (t) => {
  const own = await connect();
  const start = await own.open(`${announced.base_url}/portal`);
  const [, link = ''] = /href="([^"]+)" aria-label="Letter of Harbour School"/.exec(start.html) ?? [];
  const response = await fetch(new URL(link, start.url), { headers: { cookie: cookieOf(own) } });
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'application/pdf');
  t.is(response.headers.get('content-disposition'), 'inline; filename="enrolment-letter.pdf"');
  t.is(response.headers.get('x-content-type-options'), 'nosniff');

  const page = await own.follow(await upload(new File([await response.blob()], 'letter.pdf'), {}, own));
  t.is(page.text, 'letter.pdf 1 page Outline Larkfield Schools page 1 Enrolment letter page 1 Pages Page 1');
});

test('a letter that cannot be read: the portal says why', async (t) => {
  const stranger = await new Browser().open(`${announced.base_url}/portal/schools/harbour/letter`);
  t.is(stranger.url.pathname, '/portal');
  t.regex(stranger.text, /^Connect your account first to read letters here\./);
  const missing = await browser.open(`${announced.base_url}/portal/schools/nowhere/letter`);
  t.is(missing.url.pathname, '/portal');
  t.regex(missing.text, /^There is no school with this id\./);
});

test('no PDF service is running and Chromium is missing: the responses say what to do', async (t) => {
  await using other = await temporaryDirectory();
  const environment = { PDF_BASE_URL: 'http://127.0.0.1:1', CHROMIUM: '/nowhere', CHROMIUM_SANDBOX: 'false' };
  await using elsewhere = await startForScripts({ dataDirectory: other.path, environment });
  const own = new Browser();
  const { base_url: baseUrl, users } = elsewhere.announced;
  const { login, password } = users[0]!;
  const signIn = await own.open(`${baseUrl}/portal/connect`);
  const consent = await own.follow(await own.submit(signIn, 'Sign in', { login, password }));
  await own.follow(await own.submit(consent, 'Authorize'));

  const form = new FormData();
  form.set('file', new File([pdf], 'a.pdf'));
  const page = await own.post(new URL('/portal/documents', baseUrl), form);
  t.is(page.status, 503);
  t.true(
    page.text.startsWith(
      'The PDF service does not answer. Start it in another terminal: npm run pdf-service Documents',
    ),
  );

  const token = await clientToken(elsewhere.announced, 'Nightly import');
  const letter = await send(`${baseUrl}/api/v1/schools/harbour/letter`, {
    headers: { authorization: `Bearer ${token}` },
  });
  t.is(letter.status, 501);
  t.is(letter.body?.['code'], 'letters_unavailable');
  t.is(
    letter.body?.['message'],
    'This server cannot make letters. CHROMIUM: there is no such file; give the path of Chromium or leave it out.',
  );
});
