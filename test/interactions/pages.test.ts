import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from '../harness/test.ts';
import { pages } from 'koa-gatehouse/interactions';
import { ConfigError } from '../../lib/errors.ts';
import { fakeFlow } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const LOGIN = '/oauth/interaction/login';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>';

const A_NAME = 'must be the name of the platform, 1 to 60 characters.';
const A_COLOUR = 'must be a colour such as #0b57d0.';
const WITH_WHITE =
  'but needs at least 4.5:1, with white, the colour of the page and of the text on buttons. Darken it.';
const AN_ADDRESS = 'must be an absolute path, or a URL that begins with https:, file: or data:.';
const A_LINK = 'must be an https: URL, or a path that begins with one slash.';
const BRAND = 'name, logo, accent, accentDark, stylesheet, home, terms, privacy';
const TEXTS = "give an object with texts by name, such as { 'login.heading': 'Sign in' }.";
const LARGE = `data:image/svg+xml,${SVG}${' '.repeat(300_000)}<x/>`;

/** The brand, with the mistake in an option of it. */
const REFUSED_BRANDS: readonly (readonly [brand: object, option: string, message: string])[] = [
  [{ colour: '#000' }, 'colour', `there is no such option; the options are ${BRAND}`],
  [{ name: undefined }, 'name', A_NAME],
  [{ name: 'A'.repeat(61) }, 'name', A_NAME],
  [{ accent: '#ffcc00' }, 'accent', `#ffcc00 has a contrast of 1.51:1, ${WITH_WHITE}`],
  [{ accent: '#777777' }, 'accent', `#777777 has a contrast of 4.48:1, ${WITH_WHITE}`],
  [
    { accentDark: '#0b57d0' },
    'accentDark',
    '#0b57d0 has a contrast of 2.90:1, but needs at least 4.5:1, with the dark page (#131316). Lighten it.',
  ],
  [{ accent: 'red' }, 'accent', A_COLOUR],
  [{ accent: '#000; } body { display: none' }, 'accent', A_COLOUR],
  [{ logo: './logo.svg' }, 'logo', AN_ADDRESS],
  [{ logo: 'http://cdn.example/logo.svg' }, 'logo', AN_ADDRESS],
  [
    { logo: '/nowhere/logo.svg' },
    'logo',
    'cannot be read from file:///nowhere/logo.svg. Check the path and its permissions.',
  ],
  [{ logo: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' }, 'logo', 'is not an SVG, PNG, JPEG or WebP image.'],
  [{ logo: LARGE }, 'logo', `has ${SVG.length + 300_000 + 4} bytes. Give an image of at most 262144.`],
  [{ logo: 'data:image/svg+xml,%FF' }, 'logo', 'is a data: URL that cannot be decoded.'],
  [{ terms: 'javascript:alert(1)' }, 'terms', A_LINK],
  [{ privacy: '//evil.example' }, 'privacy', A_LINK],
];

const REFUSED: readonly (readonly [options: object, option: string, message: string])[] = [
  ...REFUSED_BRANDS.map(([brand, option, message]) => {
    return [{ brand: { name: 'Acme', ...brand } }, `.brand.${option}`, message] as const;
  }),
  ...[null, 5, [], 'Acme'].map((brand) => {
    return [{ brand }, '.brand', `pass an object with some of ${BRAND}`] as const;
  }),
  [
    { brend: {} },
    '.brend',
    'there is no such option; did you mean brand? The options are brand, language, text, views',
  ],
  ...[null, 5, {}].map((language) => {
    return [{ language }, '.language', "give 'en' or 'de', or several in an array."] as const;
  }),
  [{ language: [] }, '.language', 'give at least one.'],
  [
    { language: 'tlh' },
    '.language',
    '"tlh" is not one of en, de. Use one of them and put your own texts into `text`.',
  ],
  ...[null, 5, [], 'Sign in'].map((text) => [{ text }, '.text', TEXTS] as const),
  [{ language: ['en', 'de'], text: { en: null } }, '.text.en', TEXTS],
  [
    { language: ['en', 'de'], text: { 'login.heading': 'Hi' } },
    '.text',
    'the pages are in en and de: give the texts by language, as in { en: { … } }.',
  ],
  [
    { language: 'en', text: { de: { 'login.heading': 'Hallo' } } },
    '.text.de',
    'the pages are in en. Add the language to `language`, or leave this out.',
  ],
  [
    { language: 'de', text: { de: { 'consent.heading': 'Hallo' } } },
    '.text.de.consent.heading',
    'must have the placeholders of "Zugriff für {client} erlauben?", which are: {client}.',
  ],
  [
    { text: { 'login.titel': 'Hi' } },
    '.text.login.titel',
    'the pages have no text with this name. Check its spelling.',
  ],
  [{ text: { 'login.heading': '' } }, '.text.login.heading', 'must be a text that is not empty.'],
  [{ text: { 'scope.schools:read': '' } }, '.text.scope.schools:read', 'must be a text that is not empty.'],
];

test('invalid options are a ConfigError', (t) => {
  for (const [options, option, message] of REFUSED) {
    const path = `interactions${option}`;
    // The names of texts are known when the server is made, because features have texts too.
    const error = t.throws(() => pages(options)(fakeFlow()), {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
      message: `${path}: ${message}`,
    });
    t.is(error?.option, path);
  }
});

test('without options, the name is the issuer’s host, with a default logo', async (t) => {
  const site = await servePages(t, fakeFlow(), {});
  const { html } = await site.get(LOGIN);
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
  const { html } = await site.get(LOGIN);
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
    const { html } = await site.get(LOGIN);
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
    const { html, headers } = await site.get(LOGIN);
    t.regex(headers.get('content-security-policy') ?? '', /img-src 'self';/);
    const image = await site.get(/<img src="([^"]+)"/.exec(html)?.[1] ?? '');
    t.is(image.html, SVG);
    const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    t.is(image.headers.get('content-security-policy'), policy);
  }
});

test('the Content-Security-Policy allows the host of a logo, and no other', async (t) => {
  const logo = 'https://cdn.example/a/logo.svg?v=1&w=2';
  const site = await servePages(t, fakeFlow(), { brand: { name: 'Acme', logo } });
  const { html, headers } = await site.get(LOGIN);
  t.true(html.includes('<img src="https://cdn.example/a/logo.svg?v=1&amp;w=2" alt="Acme">'));
  t.regex(headers.get('content-security-policy') ?? '', /img-src 'self' https:\/\/cdn\.example;/);
});

test('URLs of style sheets contain a hash of the content, and only with it they are served as immutable', async (t) => {
  const site = await servePages(t, fakeFlow(), { brand: { name: 'Acme', accent: '#7A1FA2' } });
  const { html } = await site.get(LOGIN);
  const [theme = '', page = ''] = [...html.matchAll(/rel="stylesheet" href="([^"]+)"/g)].map(
    (match) => match[1],
  );
  for (const [path, cached] of [
    [theme, 'public, max-age=31536000, immutable'],
    [page, 'public, max-age=31536000, immutable'],
    // Of another version.
    ['/oauth/assets/AAAAAAAAAAAA/page.css', 'no-cache'],
  ] as const) {
    const { headers, status } = await site.get(path);
    t.is(status, 200);
    t.is(headers.get('content-type'), 'text/css; charset=utf-8');
    t.is(headers.get('cache-control'), cached);
    t.is(headers.get('x-content-type-options'), 'nosniff');
  }
  t.regex((await site.get(theme)).html, /--accent: #7a1fa2; --on-accent: #ffffff;/);
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
    const { html, status } = await site.get(path);
    t.deepEqual([status, html], [404, 'Not Found'], path);
  }
});
