import test from '../harness/test.ts';
import type { Pages } from 'koa-gatehouse';
import { pages } from 'koa-gatehouse/interactions';

import { once, REPORTS, startArea } from './area.ts';
import { startDeveloperPlatform } from './developers.ts';
import { shared } from '../harness/shared.ts';

const RESERVED = 'this name, or one that looks like it, is reserved';
const MIXED = 'use the letters of one script; letters of different scripts can look the same (UTS 39)';
const INVISIBLE = 'leave out control characters';

/** Reserved beside the brand, "Acme Schools". */
const RESERVED_NAMES = ['ПОРТАЛ 1', 'Acme', 'दिल', 'École', '★'];

/** Names that a user may not give an app. */
const REFUSED: Readonly<Record<string, string>> = {
  'Acme Schools': RESERVED,
  'ACME-SCHOOLS!': RESERVED,
  'Acme\u00a0Schools': RESERVED,
  'Ａｃｍｅ Schools': RESERVED,
  'Acrne Schools': RESERVED,
  'Acme Schoo1s': RESERVED,
  'Аcme Schools': RESERVED,
  'Αcme Schools': RESERVED,
  'портал l': RESERVED,
  'Acme®': RESERVED,
  '✅ Acme': RESERVED,
  'Acme ✔️': RESERVED,
  'ᴀᴄᴍᴇ ꜱᴄʜᴏᴏʟꜱ': RESERVED,
  'A\u0332c\u0332m\u0332e\u0332': RESERVED,
  'Ac\u034bm\u0489e': RESERVED,
  Àçmé: RESERVED,
  'Acme Schøøls': RESERVED,
  'A¢m€': RESERVED,
  'A©me ✅': RESERVED,
  '@cme': RESERVED,
  Acmeʼ: RESERVED,
  Acmeˑ: RESERVED,
  '∆cme': RESERVED,
  Ⱥȼmɇ: RESERVED,
  ȺƈⱮɇ: RESERVED,
  'Acme $choo|s': RESERVED,
  ᴬᶜᵐᵉ: RESERVED,
  'ⒶⒸⓜⓔ': RESERVED,
  '🅐🅒🅜🅔': RESERVED,
  '🅰️cme': RESERVED,
  '🇦🇨🇲🇪': RESERVED,
  '★ !': RESERVED,
  'Acme\ufe0f': INVISIBLE,
  'Report\u3164': INVISIBLE,
  'Reports\u{e0100}': INVISIBLE,
  '\u2800Reports': INVISIBLE,
  'Re\u200bports': INVISIBLE,
  'Re\u200dports': INVISIBLE,
  'Re\u200cports': INVISIBLE,
  'खाता\u200d': INVISIBLE,
  'نم\u200c\u200cی': INVISIBLE,
  'द\u200dि\u200cल': RESERVED,
  'A👩\u200d💻cme': RESERVED,
  Pаypal: MIXED,
  'Яндекс Mail': MIXED,
  ᎪᏢᏢLE: MIXED,
  'Ա-Team': MIXED,
  '𐌰𐌱 Team': MIXED,
};

const ACCEPTED = [
  'Acme Schools Reports',
  'Acne',
  'Reports® ™',
  '✅ Reports',
  'école Münster',
  'दाल',
  'Арена',
  'ᏣᎳᎩ',
  'ᐃᓄᒃᑎᑐᑦ',
  '𐌰𐌱',
  'Schüler-App №1 (beta) – neu!',
  'Школа',
  '学校 App ひらがな カタカナー',
  'مدرسة',
  'בית ספר',
  'स्कूल',
  '📚 Books ❤️',
  '12:30',
  'نمی\u200cخواهم',
  'क्\u200dष',
  'ශ්\u200dරී',
  '👩\u200d💻 Agent',
  '🏳️\u200d🌈 Club',
];

const GERMAN = { interactions: pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'] }) };
const started = shared(async (stack) => {
  const area = stack.use(await startArea('dora', { ...GERMAN, clients: { reservedNames: RESERVED_NAMES } }));
  const [dora, root] = [await area.developer('dora'), await area.developer('root')];
  return { area, dora, root };
});

test('names that look like reserved names, mix scripts or have invisible characters are refused', async (t) => {
  const { area, dora } = await started();
  const { client } = await area.registerFor('dora', REPORTS);
  for (const [name, message] of Object.entries(REFUSED)) {
    const refusal = { code: 'ERR_CLIENT_INVALID', message: `name: ${message}` };
    await t.throwsAsync(dora.create({ ...REPORTS, name }, once()), refusal, name);
    await t.throwsAsync(dora.update(client.id, { name }), refusal, name);
  }
  t.deepEqual(await area.auth.clients.find(client.id), client);
});

test('other names are accepted, in any script', async (t) => {
  const { dora } = await started();
  for (const name of ACCEPTED) t.is((await dora.create({ ...REPORTS, name }, once()))?.client.name, name);
});

test('an administrator may give any name, and a form may repeat the current name', async (t) => {
  const { root, area, dora } = await started();
  for (const name of ['Acme Schools', 'Pаypal']) {
    t.is((await root.create({ ...REPORTS, name }, once()))?.client.name, name);
    const { client } = await area.registerFor('dora', { ...REPORTS, name });
    t.deepEqual((await dora.update(client.id, { name, scopes: [] })).scopes, []);
    await t.throwsAsync(dora.update(client.id, { name: `${name}.` }), { code: 'ERR_CLIENT_INVALID' });
  }
});

test('the page says what is wrong with a name, in English or German', async (t) => {
  const { area } = await started();
  const { browser, registerFor, url } = area;
  const { client } = await registerFor('dora', REPORTS);
  for (const [locale, button, name, words] of [
    ['en', 'Save', 'Асme Schools', 'belongs to the platform'],
    ['de', 'Speichern', 'Асme Schools', 'gehört der Plattform'],
    ['de', 'Speichern', 'Pаypal', 'mischt Buchstaben mehrerer Schriften'],
  ] as const) {
    const page = await browser.open(url(`/developer/apps/${client.id}/settings?ui_locales=${locale}`));
    const action = new URL(page.actionOf(button));
    action.searchParams.set('ui_locales', locale);
    const fields = { ...page.hiddenFields(), name, redirectUris: REPORTS.redirectUris[0] };
    const refused = await browser.post(action, new URLSearchParams(fields));
    t.is(refused.status, 422);
    t.true(refused.text.includes(words), refused.text);
    t.regex(refused.html, /id="name"[^>]* aria-invalid="true"/);
  }
});

test('pages without a brand have the host as brand, and custom pages their own brand', async (t) => {
  for (const brand of [undefined, 'Our own']) {
    let made: Pages | undefined;
    await using platform = await startDeveloperPlatform({
      interactions: (flow) => (made = { ...pages()(flow), ...(brand && { brand }) }),
    });
    t.is(made?.brand, brand ?? new URL(platform.origin).host);
  }
});
