import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { pages } from 'koa-gatehouse/interactions';
import type { PagesOptions } from 'koa-gatehouse/interactions';
import { ConfigError } from '../../lib/errors.ts';
import { fakeFlow } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>';

const refused: [options: object, message: string][] = [
  [
    { brend: {} },
    'interactions.brend: there is no such option; did you mean brand? The options are brand, language, text, views',
  ],
  ...[null, 5, [], 'Acme'].map((brand): [object, string] => [
    { brand },
    'interactions.brand: pass an object with some of name, logo, accent, accentDark, stylesheet, home, terms, privacy',
  ]),
  ...[null, 5, {}].map((language): [object, string] => [
    { language },
    "interactions.language: give 'en' or 'de', or several in an array.",
  ]),
  ...[null, 5, [], 'Sign in'].map((text): [object, string] => [
    { text },
    "interactions.text: give an object with texts by name, such as { 'login.heading': 'Sign in' }.",
  ]),
  ...[null, 5, []].map((english): [object, string] => [
    { language: ['en', 'de'], text: { en: english } },
    "interactions.text.en: give an object with texts by name, such as { 'login.heading': 'Sign in' }.",
  ]),
  [
    { brand: { name: 'Acme', colour: '#000' } },
    'interactions.brand.colour: there is no such option; the options are name, logo, accent, accentDark, stylesheet, home, terms, privacy',
  ],
  [{ brand: {} }, 'interactions.brand.name: must be the name of the platform, 1 to 60 characters.'],
  [
    { brand: { name: 'A'.repeat(61) } },
    'interactions.brand.name: must be the name of the platform, 1 to 60 characters.',
  ],
  [
    { brand: { name: 'Acme', accent: '#ffcc00' } },
    'interactions.brand.accent: #ffcc00 has a contrast of 1.51:1, but needs at least 4.5:1, with white, the colour of the page and of the text on buttons. Darken it.',
  ],
  [
    { brand: { name: 'Acme', accent: '#777777' } },
    'interactions.brand.accent: #777777 has a contrast of 4.48:1, but needs at least 4.5:1, with white, the colour of the page and of the text on buttons. Darken it.',
  ],
  [
    { brand: { name: 'Acme', accentDark: '#0b57d0' } },
    'interactions.brand.accentDark: #0b57d0 has a contrast of 2.90:1, but needs at least 4.5:1, with the dark page (#131316). Lighten it.',
  ],
  [
    { brand: { name: 'Acme', accent: 'red' } },
    'interactions.brand.accent: must be a colour such as #0b57d0.',
  ],
  [
    { brand: { name: 'Acme', accent: '#000; } body { display: none' } },
    'interactions.brand.accent: must be a colour such as #0b57d0.',
  ],
  [
    { brand: { name: 'Acme', logo: './logo.svg' } },
    'interactions.brand.logo: must be an absolute path, or a URL that begins with https:, file: or data:.',
  ],
  [
    { brand: { name: 'Acme', logo: 'http://cdn.example/logo.svg' } },
    'interactions.brand.logo: must be an absolute path, or a URL that begins with https:, file: or data:.',
  ],
  [
    { brand: { name: 'Acme', logo: '/nowhere/logo.svg' } },
    'interactions.brand.logo: cannot be read from file:///nowhere/logo.svg. Check the path and its permissions.',
  ],
  [
    { brand: { name: 'Acme', logo: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' } },
    'interactions.brand.logo: is not an SVG, PNG, JPEG or WebP image.',
  ],
  [
    { brand: { name: 'Acme', logo: `data:image/svg+xml,${SVG}${' '.repeat(300_000)}<x/>` } },
    `interactions.brand.logo: has ${SVG.length + 300_000 + 4} bytes. Give an image of at most 262144.`,
  ],
  [
    { brand: { name: 'Acme', logo: 'data:image/svg+xml,%FF' } },
    'interactions.brand.logo: is a data: URL that cannot be decoded.',
  ],
  [
    { brand: { name: 'Acme', terms: 'javascript:alert(1)' } },
    'interactions.brand.terms: must be an https: URL, or a path that begins with one slash.',
  ],
  [
    { brand: { name: 'Acme', privacy: '//evil.example' } },
    'interactions.brand.privacy: must be an https: URL, or a path that begins with one slash.',
  ],
  [
    { language: 'tlh' },
    'interactions.language: "tlh" is not one of en, de. Use one of them and put your own texts into `text`.',
  ],
  [
    { text: { 'login.titel': 'Hi' } },
    'interactions.text.login.titel: the pages have no text with this name. Check its spelling.',
  ],
  [{ text: { 'login.heading': '' } }, 'interactions.text.login.heading: must be a text that is not empty.'],
  [
    { text: { 'consent.heading': 'Authorize this app' } },
    'interactions.text.consent.heading: must have the placeholders of "Authorize {client}", which are: {client}.',
  ],
];

for (const [options, message] of refused) {
  test(`ConfigError: ${JSON.stringify(options).slice(0, 80)}`, (t) => {
    const error = t.throws(() => pages(options as PagesOptions), { instanceOf: ConfigError, message });
    t.is(error?.code, 'ERR_CONFIG');
    t.is(error?.option, message.slice(0, message.indexOf(': ')));
  });
}

test('without options, the name is the issuer’s host, with a default logo', async (t) => {
  const site = await servePages(t, fakeFlow(), {});
  const { html } = await site.get('/oauth/interaction/login');
  t.true(html.includes('<title>Sign in · platform.example</title>'));
  const mark = /<img src="([^"]+)" alt="" width="36" height="36"> platform\.example/.exec(html)?.[1] ?? '';
  const image = await site.get(mark);
  t.is(image.status, 200);
  t.is(image.headers.get('content-type'), 'image/svg+xml');
});

test('the page shows the name, the links and the texts of the brand', async (t) => {
  const site = await servePages(t, fakeFlow(), {
    brand: { name: 'Äcme & Söhne', terms: '/terms', privacy: 'https://acme.example/privacy?a=1&b=2' },
    text: { 'login.heading': 'Hello', 'login.login': 'User name' },
  });
  const { html } = await site.get('/oauth/interaction/login');
  t.true(html.includes('<title>Hello · Äcme &amp; Söhne</title>'));
  t.true(html.includes('<label for="login">User name</label>'));
  t.true(html.includes('<a href="/terms">Terms</a>'));
  t.true(html.includes('<a href="https://acme.example/privacy?a=1&amp;b=2">Privacy</a>'));
});

test('a logo file is read once, and served as immutable', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  const file = join(folder, 'logo.bin');
  writeFileSync(file, PNG);
  const byPath = await servePages(t, fakeFlow(), { brand: { name: 'Acme', logo: file } });
  const byUrl = await servePages(t, fakeFlow(), { brand: { name: 'Acme', logo: pathToFileURL(file) } });
  rmSync(folder, { recursive: true });
  for (const site of [byPath, byUrl]) {
    const { html } = await site.get('/oauth/interaction/login');
    const logo = /<img src="(\/oauth\/assets\/[\w-]{12}\/logo\.png)" alt="Acme">/.exec(html)?.[1] ?? '';
    const image = await site.get(logo);
    t.is(image.status, 200);
    t.is(image.headers.get('content-type'), 'image/png');
    t.is(image.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    t.is(Number(image.headers.get('content-length')), PNG.length);
  }
});

test('a logo in a data: URL is served like a file', async (t) => {
  for (const logo of [
    `data:image/svg+xml,${encodeURIComponent(SVG)}`,
    `data:image/svg+xml;base64,${Buffer.from(SVG).toString('base64')}`,
  ]) {
    const site = await servePages(t, fakeFlow(), { brand: { name: 'Acme', logo } });
    const { html, headers } = await site.get('/oauth/interaction/login');
    t.regex(headers.get('content-security-policy') ?? '', /img-src 'self';/);
    const image = await site.get(/<img src="([^"]+)"/.exec(html)?.[1] ?? '');
    t.is(image.html, SVG);
    t.is(
      image.headers.get('content-security-policy'),
      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    );
  }
});

test('the Content-Security-Policy allows the host of a logo, and no other', async (t) => {
  const logo = 'https://cdn.example/a/logo.svg?v=1&w=2';
  const site = await servePages(t, fakeFlow(), { brand: { name: 'Acme', logo } });
  const { html, headers } = await site.get('/oauth/interaction/login');
  t.true(html.includes('<img src="https://cdn.example/a/logo.svg?v=1&amp;w=2" alt="Acme">'));
  t.regex(headers.get('content-security-policy') ?? '', /img-src 'self' https:\/\/cdn\.example;/);
});

test('URLs of style sheets contain a hash of the content, and they are served as immutable', async (t) => {
  const site = await servePages(t, fakeFlow(), { brand: { name: 'Acme', accent: '#7A1FA2' } });
  const { html } = await site.get('/oauth/interaction/login');
  const [theme = '', page = ''] = [...html.matchAll(/rel="stylesheet" href="([^"]+)"/g)].map(
    (match) => match[1],
  );
  for (const sheet of [await site.get(page), await site.get(theme)]) {
    t.is(sheet.status, 200);
    t.is(sheet.headers.get('content-type'), 'text/css; charset=utf-8');
    t.is(sheet.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    t.is(sheet.headers.get('x-content-type-options'), 'nosniff');
  }
  t.regex((await site.get(theme)).html, /--accent: #7a1fa2; --on-accent: #ffffff;/);
});

test('the hash of another version gets the file of this version, not as immutable', async (t) => {
  const site = await servePages(t, fakeFlow());
  const sheet = await site.get('/oauth/assets/AAAAAAAAAAAA/page.css');
  t.is(sheet.status, 200);
  t.is(sheet.headers.get('cache-control'), 'no-cache');
});

test('other requests pass to the host', async (t) => {
  const site = await servePages(t, fakeFlow());
  for (const path of [
    '/',
    '/oauth/interaction',
    '/oauth/interaction/login/other',
    '/oauth/assets/AAAAAAAAAAAA/constructor',
    '/oauth/assets/AAAAAAAAAAAA/..%2flayout.ejs',
    '/oauth/assets/page.css',
    '/oauth/logout/now',
    '/oauth/authorize',
  ]) {
    const answer = await site.get(path);
    t.is(answer.status, 404, path);
    t.is(answer.html, 'Not Found', path);
  }
});
