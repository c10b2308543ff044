import test from 'ava';
import type { InteractionFlow, Pages } from 'koa-gatehouse';
import { pages } from 'koa-gatehouse/interactions';

import { REPORTS, openArea } from './area.ts';
import { startDeveloperPlatform } from './developers.ts';

const RESERVED = 'this name, or one that looks like it, is reserved';
const MIXED = 'use the letters of one script; letters of different scripts can look the same (UTS 39)';
const INVISIBLE = 'leave out control characters';

/** Reserved beside the brand, "Acme Schools". */
const RESERVED_NAMES = ['ПОРТАЛ 1', 'Acme', 'दिल', 'École', '★'];

/** Names that a user may not give an app. */
const REFUSED: Readonly<Record<string, string>> = {
  'Acme Schools': RESERVED,
  ' acme  schools ': RESERVED,
  'ACME-SCHOOLS!': RESERVED,
  'Acme\u00a0Schools': RESERVED,
  'Ａｃｍｅ Schools': RESERVED,
  '𝐀𝐜𝐦𝐞 𝐒𝐜𝐡𝐨𝐨𝐥𝐬': RESERVED,
  'Acrne Schools': RESERVED,
  'Acme Schoo1s': RESERVED,
  'Аcme Schools': RESERVED,
  'Acme Schооls': RESERVED,
  'Αcme Schools': RESERVED,
  'портал l': RESERVED,
  'Acme®': RESERVED,
  'Acme™': RESERVED,
  'Acme℠': RESERVED,
  '✅ Acme': RESERVED,
  '★ Acme ★': RESERVED,
  'Acme ✔️': RESERVED,
  '+Acme^': RESERVED,
  ᴀᴄᴍᴇ: RESERVED,
  'ᴀᴄᴍᴇ ꜱᴄʜᴏᴏʟꜱ': RESERVED,
  'A\u0332c\u0332m\u0332e\u0332': RESERVED,
  'Ac\u034bm\u0489e': RESERVED,
  'Acme\u20dd': RESERVED,
  Àçmé: RESERVED,
  'Acme Schøøls': RESERVED,
  'A¢m€': RESERVED,
  'A©me': RESERVED,
  'A©me ✅': RESERVED,
  '@cme': RESERVED,
  Acmeʼ: RESERVED,
  Acmeˑ: RESERVED,
  ˈAcme: RESERVED,
  '₳₵₥€': RESERVED,
  '∆cme': RESERVED,
  '∀cm∑': RESERVED,
  Ⱥȼmɇ: RESERVED,
  Aƈɱe: RESERVED,
  ȺƈⱮɇ: RESERVED,
  'Acme $choo|s': RESERVED,
  ᴬᶜᵐᵉ: RESERVED,
  'ⒶⒸⓜⓔ': RESERVED,
  '🄰🄲🄼🄴': RESERVED,
  '🅐🅒🅜🅔': RESERVED,
  '🅰cme': RESERVED,
  '🅰️cme': RESERVED,
  '🇦🇨🇲🇪': RESERVED,
  'Ecole®': RESERVED,
  '★ !': RESERVED,
  'Acme\u200d': INVISIBLE,
  'Acme\ufe0f': INVISIBLE,
  'Report\u3164': INVISIBLE,
  'Re\u034fports': INVISIBLE,
  'Reports\u{e0100}': INVISIBLE,
  'Reports\ufe0f': INVISIBLE,
  '\u2800Reports': INVISIBLE,
  'Re\u200bports': INVISIBLE,
  Pаypal: MIXED,
  Googlе: MIXED,
  Ρortal: MIXED,
  'Яндекс Mail': MIXED,
  ᎪᏢᏢLE: MIXED,
  'Ա-Team': MIXED,
  '𐌰𐌱 Team': MIXED,
};

const ACCEPTED = [
  'Reports',
  'Acme Schools Reports',
  'Acne',
  'Reports® ™',
  '✅ Reports',
  'Écoles',
  'école Münster',
  'दाल',
  '☆☆',
  'Арена',
  '学校',
  'ᏣᎳᎩ',
  'ᐃᓄᒃᑎᑐᑦ',
  '𐌰𐌱',
  'ソーシャル学習',
  'École ’n’ Münster 2',
  'Schüler-App №1 (beta) – neu!',
  'Школа',
  'Σχολείο',
  '学校アプリ',
  '学校 App ひらがな カタカナー',
  '학교 앱 School',
  'مدرسة',
  'בית ספר',
  'स्कूल',
  '📚 Books ❤️',
  '12:30',
];

test('names that look like reserved names, mix scripts or have invisible characters are refused', async (t) => {
  const { auth, browser, developer, open, registerFor } = await openArea(t, 'dora', {
    clients: { reservedNames: RESERVED_NAMES },
  });
  const dora = await developer('dora');
  const { client } = await registerFor('dora', REPORTS);
  let forms = 0;
  for (const [name, message] of Object.entries(REFUSED)) {
    forms += 1;
    const refusal = { code: 'ERR_CLIENT_INVALID', message: `name: ${message}` };
    await t.throwsAsync(dora.create({ ...REPORTS, name }, `form-number-${forms}`), refusal, name);
    await t.throwsAsync(dora.update(client.id, { name }), refusal, name);
    const saved = await browser.submit(await open(`/${client.id}`), 'Save', {
      name,
      redirectUris: REPORTS.redirectUris[0],
    });
    t.is(saved.status, 422, name);
    t.regex(saved.html, /id="name"[^>]* aria-invalid="true"/, name);
  }
  t.deepEqual(await auth.clients.list(), [client]);
});

test('other names are accepted, in any script', async (t) => {
  const { developer } = await openArea(t, 'dora', { clients: { reservedNames: RESERVED_NAMES } });
  const dora = await developer('dora');
  for (const [index, name] of ACCEPTED.entries()) {
    const made = await dora.create({ ...REPORTS, name }, `name-number-${index}`);
    t.is(made?.client.name, name);
  }
});

test('an administrator may give any name, and a form may repeat the current name', async (t) => {
  const { developer, registerFor } = await openArea(t);
  const [dora, root] = [await developer('dora'), await developer('root')];
  for (const name of ['Acme Schools', 'Pаypal']) {
    t.is((await root.create({ ...REPORTS, name }, `root-${name}-0123456789`))?.client.name, name);
    const { client } = await registerFor('dora', { ...REPORTS, name });
    t.deepEqual((await dora.update(client.id, { name, scopes: [] })).scopes, []);
    await t.throwsAsync(dora.update(client.id, { name: `${name}.` }), { code: 'ERR_CLIENT_INVALID' });
  }
});

test('pages without a brand have the host as brand, and custom pages their own brand', async (t) => {
  let made: Pages | undefined;
  for (const [interactions, brand] of [
    [pages(), undefined],
    [(flow: InteractionFlow): Pages => ({ ...pages()(flow), brand: 'Our own' }), 'Our own'],
  ] as const) {
    const platform = await startDeveloperPlatform({
      interactions(flow) {
        made = interactions(flow);
        return made;
      },
    });
    t.teardown(async () => platform[Symbol.asyncDispose]());
    t.is(made?.brand, brand ?? new URL(platform.origin).host);
  }
});

test('the errors of app names are translated to German', async (t) => {
  const interactions = pages({ brand: { name: 'Acme Schools' }, language: ['en', 'de'] });
  const { browser, registerFor, url } = await openArea(t, 'dora', { interactions });
  const { client } = await registerFor('dora', REPORTS);
  const page = await browser.open(url(`/developer/apps/${client.id}?ui_locales=de`));
  const german = new URL(page.actionOf('Speichern'));
  german.searchParams.set('ui_locales', 'de');
  for (const [name, words] of [
    ['Асme Schools', 'gehört der Plattform'],
    ['Pаypal', 'mischt Buchstaben mehrerer Schriften'],
  ] as const) {
    const fields = { ...page.hiddenFields(), name, redirectUris: REPORTS.redirectUris[0] };
    const refused = await browser.post(german, new URLSearchParams(fields));
    t.is(refused.status, 422);
    t.true(refused.text.includes(words), refused.text);
  }
});
