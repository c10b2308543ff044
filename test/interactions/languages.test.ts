import test from '../harness/test.ts';
import { pages } from 'koa-gatehouse/interactions';
import { placeholders } from '../../interactions/text.ts';
import { de } from '../../interactions/text/de.ts';
import { openIdPages } from '../../lib/features/openid/pages.ts';
import type { LogoutDelivery } from '../../lib/features/openid/types.ts';
import { en } from '../../interactions/text/en.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { asked, fakeFlow, reports } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

const BOTH = { brand: { name: 'Acme' }, language: ['en', 'de'] } as const;

test("the pages are in German with language: 'de'", async (t) => {
  const site = await servePages(t, fakeFlow(), { brand: { name: 'Acme' }, language: 'de' });
  const { headers, html } = await site.get('/oauth/interaction/login');
  t.true(html.includes('<html lang="de">'));
  t.is(headers.get('vary'), null, 'the same for every Accept-Language');
  const refused = await site.post('/oauth/interaction/login/login', { login: 'ann', password: 'x' });
  t.is(refused.status, 422);
  t.true(refused.html.includes('<title>Fehler: Anmelden · Acme</title>'));
  t.true(refused.text.includes('E-Mail-Adresse oder Passwort ist falsch.'));
});

test('of several languages, ui_locales of the client decides, then Accept-Language, then their order', async (t) => {
  for (const [accepted, language, uiLocales] of [
    ['de', 'de'],
    ['de-AT, en;q=0.8', 'de'],
    ['fr, de;q=0.5, en;q=0.4', 'de'],
    ['en;q=0.4, DE;q=0.5', 'de'],
    ['en-GB, de;q=0.9', 'en'],
    ['fr', 'en'],
    ['*', 'en'],
    ['de;q=0', 'en'],
    ['', 'en'],
    ['constructor, __proto__', 'en'],
    ['en', 'de', ['de-CH']],
    ['en', 'de', ['fr', 'DE', 'en']],
    ['en', 'en', ['fr']],
    ['de', 'de', ['']],
  ] as const) {
    const site = await servePages(t, fakeFlow({ login: { uiLocales }, consent: { uiLocales } }), BOTH);
    for (const prompt of ['login', 'consent']) {
      const page = await site.get(`/oauth/interaction/${prompt}`, { 'accept-language': accepted });
      t.true(page.html.includes(`<html lang="${language}">`), `${accepted} ${uiLocales?.join(' ')}`);
      t.is(page.headers.get('vary'), 'Accept-Language');
    }
  }
  const german = await servePages(t, fakeFlow(), { language: ['de', 'en'] });
  const { html } = await german.get('/oauth/interaction/login', { 'accept-language': 'fr' });
  t.true(html.includes('<html lang="de">'));
});

test('ui_locales applies to all pages of an authorization, from the login to an error', async (t) => {
  const text = { de: { 'login.submit': 'Sign in' } };
  await using platform = await startPlatform({ interactions: pages({ language: ['en', 'de'], text }) });
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app, { ui_locales: 'fr-CA de' }));
  t.is(login.heading, 'Anmelden');
  const consent = await signIn(browser, login);
  t.is(consent.heading, 'Zugriff für Reports erlauben?');
  t.is((await browser.follow(await browser.submit(consent, 'Nicht Sie?'))).heading, 'Anmelden');
  const wrong = { ui_locales: 'de', redirect_uri: 'https://evil.example/' };
  const error = await browser.open(authorizeUrl(platform, app, wrong));
  t.is(error.heading, 'Dieser Link führt nicht zur App zurück');
});

test('a page outside an authorization takes ui_locales from its own URL, and keeps it in its forms', async (t) => {
  const flow = fakeFlow({ flow: { currentUser: async () => undefined } });
  const site = await servePages(t, flow, BOTH);
  const page = await site.get('/oauth/login?ui_locales=fr%20de', { 'accept-language': 'en' });
  t.true(page.html.includes('<html lang="de">'));
  t.true(page.html.includes('action="/oauth/login?ui_locales=fr%20de"'));
  const twice = await site.get('/oauth/login?ui_locales=de&ui_locales=de', { 'accept-language': 'en' });
  t.true(twice.html.includes('<html lang="en">'));
});

test('error pages follow Accept-Language; details for developers are in English', async (t) => {
  const error = { status: 503, error: 'temporarily_unavailable', description: 'gone', reference: 'r1' };
  for (const [language, heading, lead, detail] of [
    [
      ['de', 'en'],
      'Das geht gerade nicht',
      'Nichts ist verloren. Versuchen Sie es gleich noch einmal.',
      '<dd lang="en">gone</dd>',
    ],
    ['en', 'This is not working right now', 'Nothing is lost. Try again in a moment.', '<dd>gone</dd>'],
  ] as const) {
    const site = await servePages(t, fakeFlow(), { brand: { name: 'Acme' }, language });
    const page = await site.fail(error);
    t.is(page.status, 503);
    t.true(page.text.includes(heading));
    t.true(page.text.includes(lead));
    t.true(page.html.includes(detail));
  }
});

test('dates and numbers have the format of the language', async (t) => {
  const connection = {
    client: reports,
    scopes: undefined,
    resources: [],
    createdAt: 1_777_766_400,
    lastUsedAt: undefined,
    tools: [{ name: 'rename_school', at: 1_777_800_000 }],
    grants: [],
    allowedBy: [],
    moreGrants: false,
  };
  for (const [count, english, german] of [
    [1, 'One app can use your Acme account.', 'Eine App kann auf Ihr Konto bei Acme zugreifen.'],
    [2, '2 apps can use your Acme account.', '2 Apps können auf Ihr Konto bei Acme zugreifen.'],
    [1200, '1,200 apps can use', '1.200 Apps können auf'],
  ] as const) {
    const apps = {
      list: async () => Array.from({ length: count }, () => connection),
      revoke: async () => false,
      revokeGrant: async () => false,
    };
    const told = {
      clientId: reports.id,
      createdAt: 1_777_800_000,
      dueAt: undefined,
      answeredAt: 1_777_803_600,
    };
    const logouts = { findLatest: async () => undefined, listLatest: async () => [told as LogoutDelivery] };
    const flow = {
      accountPath: '/account/apps',
      authorizedApps: () => apps,
      features: [openIdPages(logouts)],
    };
    const site = await servePages(t, fakeFlow({ flow }), BOTH);
    for (const [language, ...said] of [
      [
        'en',
        english,
        'Authorized May 3, 2026',
        'Dates are in UTC.',
        'What it did lately: rename_school May 3, 2026, 09:20 UTC',
        'Told of your logout on May 3, 2026, 10:20 UTC',
      ],
      [
        'de',
        german,
        'Erlaubt am 3. Mai 2026',
        'Datumsangaben sind in UTC.',
        'Was sie zuletzt getan hat: rename_school 3. Mai 2026, 09:20 UTC',
        'Über Ihre Abmeldung informiert am 3. Mai 2026, 10:20 UTC',
      ],
    ] as const) {
      const { text } = await site.get('/account/apps', { 'accept-language': language });
      for (const words of said) t.true(text.includes(words), words);
    }
  }
});

test('texts and descriptions of scopes may be set per language', async (t) => {
  const scope = asked({ name: 'schools:read', description: 'See your schools' });
  const flow = fakeFlow({ consent: { scopes: [scope] } });
  const site = await servePages(t, flow, {
    ...BOTH,
    text: {
      en: { 'consent.deny': 'No' },
      de: { 'consent.deny': 'Nein', 'scope.schools:read': 'Ihre Schulen sehen' },
    },
  });
  const english = await site.get('/oauth/interaction/consent', { 'accept-language': 'en' });
  t.true(english.html.includes('<button>No</button>'));
  t.true(english.html.includes('<li>See your schools</li>'), 'the description of the scope itself');
  const german = await site.get('/oauth/interaction/consent', { 'accept-language': 'de' });
  t.true(german.html.includes('<button>Nein</button>'));
  t.true(german.html.includes('<li>Ihre Schulen sehen</li>'));
});

test('each German text has the placeholders and the final punctuation of the English text', (t) => {
  t.deepEqual(Object.keys(de), Object.keys(en), 'interactions/text/de.ts has the order of en.ts');
  for (const [key, english] of Object.entries(en)) {
    const german = de[key as keyof typeof en];
    t.is(placeholders(german), placeholders(english), key);
    t.is(/[.?:]$/.exec(german)?.[0], endings[key] ?? /[.?:]$/.exec(english)?.[0], key);
    t.is(german, german.trim(), key);
    t.notRegex(german, /["']| {2}|--|[—“]\p{L}/u, key);
  }
});

/** German asks for consent where English describes it. */
const endings: Readonly<Record<string, string>> = { 'consent.heading': '?' };
