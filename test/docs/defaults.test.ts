// Compares the defaults in the guides and doc comments with those of the code.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import test from 'ava';
import { defineGate } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { LIMITS as API_LIMITS } from '../../lib/api/limits.ts';
import { readOptions } from '../../lib/options/declare.ts';
import { deviceAuthorization } from '../../lib/options/clients.ts';
import { readConverterSettings } from '../../lib/html-pdf/options.ts';
import { registration } from '../../lib/options/registration.ts';
import { resolveOptions } from '../../lib/options/resolve.ts';
import type { LifetimePreset } from '../../lib/options/lifetimes.ts';
import type { ResolvedOptions } from '../../lib/options/resolved-options.ts';
import { readSettings } from '../../lib/pdf/options.ts';
import { people } from '../harness/platform.ts';
import { documentedIn, GROUPS, SERVER_OPTIONS } from './documented.ts';
import type { Place } from './documented.ts';
import { GUIDES, ROOT } from './guides.ts';

delete process.env['PDF_BASE_URL'];

function resolved(lifetimes?: LifetimePreset): ResolvedOptions<string, string, { id: string }> {
  const gate = defineGate({ permissions: { manage_apps: 'Manage apps' } });
  return resolveOptions<string, string, { id: string }>(
    {
      issuer: 'https://platform.example/auth',
      users: people(),
      storage: memoryStorage(),
      ...(lifetimes && { tokens: { lifetimes } }),
    },
    gate,
  );
}

const server = resolved();
const api = readOptions(API_LIMITS, {});
const pdf = readSettings({});
// Without a look for Chromium, and as root.
const htmlPdf = readConverterSettings({ executablePath: process.execPath, sandbox: false });

/** The defaults, by the name of the option. */
const DEFAULTS: ReadonlyMap<string, unknown> = new Map([
  ...entries('', server),
  ...GROUPS.flatMap(([group]) => entries(`${group}.`, server[group])),
  ...entries('tokens.lifetimes.', server.tokens.lifetimes),
  ...entries('limits.attempts.login.', server.limits.attempts!.login!),
  ...entries('limits.attempts.clientAuthentication.', server.limits.attempts!.clientAuthentication!),
  ...entries('limits.attempts.userCodes.', server.limits.attempts!.userCodes!),
  ...entries('limits.attempts.deviceRequests.', server.limits.attempts!.deviceRequests!),
  ...entries('clients.devices.', deviceAuthorization('', true)!),
  ...entries('clients.registration.', registration('', { scopes: [] })),
  ...entries('api.', api),
  ...entries('api.bulk.', api.bulk),
  ...entries('api.uploads.', api.uploads),
  ...entries('pdf.', { ...pdf, ...inSeconds(pdf) }),
  ...entries('htmlPdf.', { ...htmlPdf, timeout: htmlPdf.timeout / 1000 }),
]);

/** Settings have timeouts in milliseconds. */
function inSeconds({ maxRetryDelay, retryDelay, timeout }: typeof pdf): object {
  return { maxRetryDelay: maxRetryDelay / 1000, retryDelay: retryDelay / 1000, timeout: timeout / 1000 };
}

function entries(prefix: string, values: object): [string, unknown][] {
  return Object.entries(values).map(([name, value]) => [prefix + name, value]);
}

/** Where the options are documented whose defaults are compared. */
const INTERFACES: readonly Place[] = [
  ...SERVER_OPTIONS,
  ['lib/api/limits.ts', 'BulkLimits', 'api.bulk.'],
  ['lib/api/limits.ts', 'UploadLimits', 'api.uploads.'],
  ['lib/pdf/options.ts', 'PdfClientOptions', 'pdf.'],
  ['lib/html-pdf/options.ts', 'HtmlToPdfOptions', 'htmlPdf.'],
];

/** Defaults that are documented in words, and whether the words are true. */
const IN_WORDS: Readonly<Record<string, boolean>> = {
  'clients.documents': server.clients.documents === undefined,
  'clients.registration': server.clients.registration === undefined,
  'clients.devices': server.clients.devices === undefined,
  'paths.mount': server.paths.mount === server.basePath,
  'login.url': server.login.url === undefined,
  // The brand is tested in options.test.ts.
  interactions: server.interactions === undefined,
  gate: true,
  'tokens.claims': server.tokens.claims === undefined,
  'tokens.lifetimes':
    JSON.stringify(server.tokens.lifetimes) === JSON.stringify(resolved('long').tokens.lifetimes),
  scopes: server.scopes.size === 0,
  resources: [...server.resources.values()].every(
    ({ metadataUrl, resource }) => resource === server.issuer && metadataUrl === undefined,
  ),
  'clients.registration.initialAccessTokens': true,
  'clients.registration.allow': true,
  'tokens.lifetimes.preset': true,
  'secrets.cookieKeys': server.secrets.cookieKeys === undefined,
  'secrets.keyEncryptionKey': server.secrets.keyEncryptionKey.length === 0,
  'limits.attempts':
    server.limits.attempts!.login !== undefined && server.limits.attempts!.clientAuthentication !== undefined,
  'limits.refreshes': server.limits.refreshes === undefined,
  logger: typeof server.logger.warn === 'function',
  'htmlPdf.executablePath': true,
  'htmlPdf.maxConcurrency': htmlPdf.maxConcurrency === availableParallelism(),
  // Not allowed as root; tested in html-pdf/sandbox.test.ts.
  'htmlPdf.sandbox': true,
  'htmlPdf.assets': htmlPdf.assets === undefined,
  'pdf.baseUrl': pdf.baseUrl === 'http://127.0.0.1:7330' && !pdf.configured,
};

/** Optional members without a default. */
const NONE = new Set([
  ...GROUPS.map(([group]) => group as string),
  'login.currentUser',
  'login.signOut',
  'engine',
  'limits.attempts.login',
  'limits.attempts.clientAuthentication',
  'limits.attempts.userCodes',
  'limits.attempts.deviceRequests',
  'htmlPdf.observe',
]);

const WORDS = 'a an one two three four five six seven eight nine ten'.split(' ');
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...WORDS.map((word, index): [string, number] => [word, Math.max(index - 1, 1)]),
  ['a', 1],
  ['fifteen', 15],
  ['twenty', 20],
  ['thirty', 30],
  ['sixty', 60],
  ['ninety', 90],
]);
const UNITS = {
  s: 1,
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  year: 31_536_000,
  KiB: 1024,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};

/** A duration, size or number in running text, such as `10 seconds`, `an hour`, `4 MiB` or `1,000`. */
const AMOUNT = `(?:(?:[\\d,_.]*\\d|\\b(?:${[...NUMBERS.keys()].join('|')})\\b)(?:[ -](?:${Object.keys(UNITS).join('|')})s?\\b)?|\\b(?:minute|hour|day|year)\\b)`;

/** In seconds, bytes or units. */
function amount(text: string): number {
  const [, number = '1', unit] =
    /^(?:([\d,_.]+|[a-z]+?)[ -]?)??(?:(s|[a-z]+?|KiB|MiB)s?)?$/i.exec(text.trim()) ?? [];
  const factor = unit === undefined ? 1 : UNITS[unit as keyof typeof UNITS];
  if (factor === undefined) return amountOf(text.trim());
  return amountOf(number) * factor;
}

function amountOf(word: string): number {
  return NUMBERS.get(word.toLowerCase()) ?? Number(word.replaceAll(/[,_]/g, ''));
}

/** Whether the text of a `@default` is a literal with this value; `undefined` if it is not a literal. */
function agrees(text: string, value: unknown): boolean | undefined {
  const [, quoted] = /^'([^']*)'/.exec(text) ?? [];
  if (quoted !== undefined) return quoted === value || amount(quoted) === value;
  const [word = ''] = text.split(/[\s,]/);
  if (/^[\d_]+$/.test(word)) return amountOf(word) === value;
  if (/^(?:true|false)$/.test(word)) return String(value) === word;
  if (word === '[]') return Array.isArray(value) && value.length === 0;
  return undefined;
}

for (const place of INTERFACES) {
  test(`the @default of each option of ${place[1]} is its default`, (t) => {
    const members = documentedIn(place);
    t.true(members.length >= 2, `${place[1]} was not found`);
    for (const { isOptional, option, text } of members) {
      if (!isOptional || NONE.has(option)) continue;
      if (text === undefined) {
        // Only options of the PDF client may have no default.
        t.true(option.startsWith('pdf.'), `${option} has no @default`);
        continue;
      }
      const says = IN_WORDS[option] ?? agrees(text, DEFAULTS.get(option));
      t.true(says, `${option}: ${text}, but it is ${JSON.stringify(DEFAULTS.get(option))}`);
      for (const [, preset, other] of text.matchAll(/preset `(\w+)`: '([^']+)'/g)) {
        const { lifetimes } = resolved(preset as LifetimePreset).tokens;
        const value = lifetimes[option.replace('tokens.lifetimes.', '') as keyof typeof lifetimes];
        t.is(amount(other!), value, `${option}, preset ${preset}`);
      }
    }
  });
}

/** The text of a guide without code blocks, which set options as examples. */
function proseOf(guide: string): string {
  return readFileSync(join(ROOT, guide), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The same without the ends of its lines. */
function sentencesOf(guide: string): string {
  return proseOf(guide).replaceAll(/\s+/g, ' ');
}

const READ = [...GUIDES, 'SECURITY.md', 'CHANGELOG.md'];
const NAMED = /^(?:limits\.requests|retention\.\w+|tokens\.(?:keyRotation|refreshGrace|revocationLag))$/;

test('a value next to the name of an option in a guide is its default', (t) => {
  const met = new Set<string>();
  for (const guide of READ) {
    const prose = sentencesOf(guide);
    for (const [option, value] of DEFAULTS) {
      if (!NAMED.test(option)) continue;
      for (const pattern of [
        `\`${option}\` \\((${AMOUNT})`,
        `\`${option}\`, (${AMOUNT})`,
        `\`${option}\` (?:is|are|of) (${AMOUNT})`,
        `(${AMOUNT}) \\(\`${option}\`\\)`,
        `(${AMOUNT}), \`${option}\``,
      ]) {
        for (const [all, text = ''] of prose.matchAll(new RegExp(pattern, 'g'))) {
          met.add(option);
          t.is(amount(text), Number(value), `${guide}: ${all}`);
        }
      }
    }
  }
  const expected = [
    'limits.requests',
    'retention.audit',
    'retention.pruneInterval',
    'tokens.keyRotation',
    'tokens.refreshGrace',
    'tokens.revocationLag',
  ];
  t.deepEqual([...met].toSorted(), expected);
});

/** Sentences with a default, without the name of the option. Each occurs in a guide and must be true. */
const SENTENCES: readonly [option: string, ...patterns: readonly string[]][] = [
  [
    'tokens.refreshGrace',
    `The grace is (AMOUNT)`,
    `but for a retry within (AMOUNT)`,
    `and it is more than (AMOUNT) ago`,
  ],
  ['tokens.revocationLag', `within (AMOUNT) on the others`],
  ['tokens.lifetimes.accessToken', `access token lives (AMOUNT) by default`],
  ['tokens.lifetimes.authorizationCode', `used before, older than (AMOUNT)`],
  ['api.bulk.maximum', `(AMOUNT) items \\(else 422\\)`],
  ['api.bulk.bodyLimit', `and (AMOUNT) \\(else 413\\)`],
  ['api.bodyLimit', `The limits are (AMOUNT) for JSON and forms`],
  ['api.uploads.bodyLimit', `(AMOUNT) and \\d+ files for multipart bodies`],
  ['api.uploads.maxFiles', `and (AMOUNT) files for multipart bodies`],
  ['api.uploads.maxFields', `and (AMOUNT) fields`],
  ['htmlPdf.timeout', '`timeout` \\((AMOUNT)\\), `maxHtmlBytes`'],
  ['htmlPdf.maxHtmlBytes', '`maxHtmlBytes` \\((AMOUNT)\\)'],
  ['htmlPdf.maxMemory', '`maxMemory` \\((AMOUNT), of all documents'],
  ['htmlPdf.maxQueue', '(AMOUNT) others wait \\(`maxQueue`\\)'],
  ['pdf.timeout', 'a step took longer than `timeout` \\((AMOUNT)\\)'],
  ['htmlPdf.recycleAfter', 'After (AMOUNT) documents \\(`recycleAfter`\\)'],
];

test('a default in a sentence of a guide is correct', (t) => {
  for (const [option, ...patterns] of SENTENCES) {
    for (const pattern of patterns) {
      let isFound = false;
      for (const guide of READ) {
        const sentences = sentencesOf(guide).matchAll(new RegExp(pattern.replace('AMOUNT', AMOUNT), 'g'));
        for (const [all, text = ''] of sentences) {
          isFound = true;
          t.is(amount(text), DEFAULTS.get(option) as number, `${guide}: ${all}`);
        }
      }
      t.true(isFound, `no guide has /${pattern}/ for ${option}: correct the pattern`);
    }
  }
});

/** The cells of the rows of the first table in a guide whose head begins with a text. */
function tableIn(guide: string, head: string): string[][] {
  const [, table = ''] = proseOf(guide).split(head);
  const rows = table
    .slice(table.indexOf('\n') + 1)
    .split('\n\n')[0]!
    .split('\n')
    .slice(1);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The lifetime of each row of the table of lifetimes. */
const LIFETIMES: Readonly<Record<string, keyof ResolvedOptions['tokens']['lifetimes']>> = {
  'access token': 'accessToken',
  'refresh token that is not used': 'refreshToken',
  'an authorization, however often it is refreshed': 'refreshTokenAbsolute',
  code: 'authorizationCode',
  'login in a browser that is not used': 'session',
  'login in a browser, however often it is used': 'sessionAbsolute',
  'a login or consent page': 'interaction',
};

test('the table of lifetimes has each lifetime, in both presets', (t) => {
  const rows = tableIn('docs/tokens.md', '| | `long` (default) | `short` |');
  t.deepEqual(
    rows.map(([what = '']) => LIFETIMES[what] ?? `unknown: ${what}`).toSorted(),
    Object.keys(server.tokens.lifetimes).toSorted(),
  );
  for (const [what = '', long = '', short = ''] of rows) {
    const name = LIFETIMES[what]!;
    const cells = { long, short: short === 'the same' ? long : short };
    for (const preset of ['long', 'short'] as const) {
      const [text = ''] = new RegExp(`^${AMOUNT}`).exec(cells[preset]) ?? [];
      t.is(amount(text), resolved(preset).tokens.lifetimes[name], `${what}, ${preset}: ${cells[preset]}`);
    }
  }
});

/** The limit and the window of each row of the table of limits. */
const LIMITS: Readonly<Record<string, string>> = {
  'login, one account from a browser that it has signed in on before': 'login.perDevice',
  'login, one account from one address': 'login.perAccountAndAddress',
  'login, one account from anywhere': 'login.perAccount',
  'login, one address': 'login.perAddress',
  "an app's secret or key, from one address": 'clientAuthentication.perClientAndAddress',
  "apps' secrets and keys, one address": 'clientAuthentication.perAddress',
  'wrong codes of devices, one user': 'userCodes.perUser',
  'wrong codes of devices, one address': 'userCodes.perAddress',
  'requests of devices, one address, for public clients': 'deviceRequests.perAddress',
  'requests of devices, one confidential client': 'deviceRequests.perClient',
};

test('the table of limits has each limit with its window', (t) => {
  const rows = tableIn('SECURITY.md', '| | within | limit |');
  // Wrong verifiers have no option.
  const limits = rows.filter(([what = '']) => !what.includes('PKCE'));
  const names = limits.map(([what = '']) => LIMITS[what] ?? `unknown: ${what}`);
  const expected = [...DEFAULTS.keys()]
    .filter((name) => /^limits\.attempts\..*\.per/.test(name))
    .map((name) => name.replace('limits.attempts.', ''));
  t.deepEqual(names.toSorted(), expected.toSorted());
  for (const [index, [what = '', window = '', limit = '']] of limits.entries()) {
    const name = `limits.attempts.${names[index]}`;
    t.is(Number.parseInt(limit, 10), DEFAULTS.get(name) as number, what);
    t.is(amount(window), DEFAULTS.get(name.replace(/\.per\w+$/, '.window')) as number, what);
  }
});

test('amounts in running text are parsed', (t) => {
  const read = [
    '10 seconds',
    'ten seconds',
    'an hour',
    'hour',
    'a year',
    'one year',
    '90 days',
    '1,000',
    '4 MiB',
    '5 s',
  ];
  t.deepEqual(read.map(amount), [10, 10, 3600, 3600, 31_536_000, 31_536_000, 7_776_000, 1000, 4_194_304, 5]);
});
