// Compares the defaults in doc comments, and in the two tables of the guides, with those of the code.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import test from '../harness/test.ts';
import { defineGate } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { LIMITS as API_LIMITS } from '../../lib/api/limits.ts';
import { parseDuration } from '../../lib/contracts/duration.ts';
import { DEVELOPER } from '../../lib/features/developer/index.ts';
import { DEVICES } from '../../lib/features/devices/index.ts';
import { readOpenId } from '../../lib/features/openid/options.ts';
import { PERSONAL_TOKENS } from '../../lib/features/personal-tokens/index.ts';
import { PUSHED_REQUESTS } from '../../lib/features/pushed-requests/index.ts';
import { readIssuers } from '../../lib/features/trusted-issuers/options.ts';
import { readOptions } from '../../lib/options/declare.ts';
import { readConverterSettings } from '../../lib/html-pdf/options.ts';
import { AGENTS } from '../../lib/features/agents/options.ts';
import { resolveOptions } from '../../lib/options/resolve.ts';
import type { LifetimePreset } from '../../lib/options/lifetimes.ts';
import type { ResolvedOptions } from '../../lib/options/resolved-options.ts';
import { readSettings } from '../../lib/pdf/options.ts';
import { people } from '../harness/platform.ts';
import { documentedIn, FEATURE_OPTIONS, GROUPS, SERVER_OPTIONS } from './documented.ts';
import type { Place } from './documented.ts';
import { ROOT } from './guides.ts';

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
const agentSettings = readOptions(AGENTS, {});
const deviceSettings = readOptions(DEVICES, {});
const pushedRequestSettings = readOptions(PUSHED_REQUESTS, {});
const [issuerSettings = {}] = readIssuers({
  'https://ci.example': { profile: 'workload', rules: [{ client: 'c', match: { sub: 's' } }] },
}).values();
const api = readOptions(API_LIMITS, {});
const pdf = readSettings({});
// Without a look for Chromium, and as root.
const htmlPdf = readConverterSettings({ executablePath: process.execPath, sandbox: false });

/** The defaults, by the name of the option. */
const DEFAULTS: ReadonlyMap<string, unknown> = new Map([
  ...entries('', server),
  ...GROUPS.flatMap(([group]) => entries(`${group}.`, server[group])),
  ...entries('tokens.lifetimes.', server.tokens.lifetimes),
  ...Object.entries(server.limits.attempts!).flatMap(([name, values]) =>
    entries(`limits.attempts.${name}.`, values as object),
  ),
  ...entries('agents.', agentSettings),
  ...entries('agents.registration.', agentSettings.registration || {}),
  ...entries('agents.documents.', agentSettings.documents || {}),
  ...entries('developer.', readOptions(DEVELOPER, {})),
  ...entries('devices.', deviceSettings),
  ...entries('devices.userCodes.', deviceSettings.userCodes!),
  ...entries('devices.requests.', deviceSettings.requests!),
  ...entries('openid.', readOpenId({})),
  ...entries('personalTokens.', readOptions(PERSONAL_TOKENS, {})),
  ...entries('pushedRequests.', pushedRequestSettings),
  ...entries('pushedRequests.requests.', pushedRequestSettings.requests!),
  ...['issuer', 'workload issuer'].flatMap((of) => entries(`trustedIssuers.<${of}>.`, issuerSettings)),
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
  ...Object.entries(FEATURE_OPTIONS).flatMap(([feature, places]) =>
    places.map(([file, name, prefix]): Place => [file, name, `${feature}.${prefix}`]),
  ),
  ['lib/api/limits.ts', 'BULK', 'api.bulk.'],
  ['lib/api/limits.ts', 'UPLOADS', 'api.uploads.'],
  ['lib/pdf/options.ts', 'PdfClientOptions', 'pdf.'],
  ['lib/html-pdf/options.ts', 'HtmlToPdfOptions', 'htmlPdf.'],
];

/** Optional members without a default. */
const NONE = new Set([
  ...GROUPS.map(([group]) => group as string),
  'login.currentUser',
  'login.logout',
  'onProvider',
  'limits.attempts.login',
  'limits.attempts.clientAuthentication',
  'agents.registration',
  'agents.documents',
  'devices.userCodes',
  'devices.requests',
  'pushedRequests.requests',
  'htmlPdf.onEvent',
]);

/** Options whose default becomes another value at the start; as root, Chromium has no sandbox. */
const COMPUTED = new Set(['openid.scopes', 'tokens.lifetimes', 'limits.refreshes', 'htmlPdf.sandbox']);

/** Whether the text of a `@default` is a literal with this value; `undefined` if it is not a literal. */
function agrees(text: string, value: unknown): boolean | undefined {
  const [, quoted] = /^'([^']*)'/.exec(text) ?? [];
  if (quoted !== undefined) return quoted === value || parseDuration(quoted) === value;
  const [literal] = /^(?:\d+|true|false|\[\])(?=$|[\s,])/.exec(text) ?? [];
  return literal === undefined ? undefined : literal === JSON.stringify(value);
}

for (const place of INTERFACES) {
  test(`the @default of each option of ${place[1]} of ${place[0]} is its default`, (t) => {
    const members = documentedIn(place);
    t.true(members.length > 0, `${place[1]} was not found`);
    for (const { isOptional, option, text } of members) {
      if (!isOptional || NONE.has(option)) continue;
      if (text === undefined) {
        // Only options of the PDF client may have no default.
        t.true(option.startsWith('pdf.'), `${option} has no @default`);
        continue;
      }
      if (COMPUTED.has(option)) continue;
      const value = DEFAULTS.get(option);
      const found = DEFAULTS.has(option)
        ? `it is ${JSON.stringify(value)}`
        : 'DEFAULTS above lacks its declaration';
      t.not(agrees(text, value), false, `${option}: ${text}, but ${found}`);
      for (const [, preset, other] of text.matchAll(/preset `(\w+)`: '([^']+)'/g)) {
        const { lifetimes } = resolved(preset as LifetimePreset).tokens;
        const name = option.replace('tokens.lifetimes.', '') as keyof typeof lifetimes;
        t.is(parseDuration(other), lifetimes[name], `${option}, preset ${preset}`);
      }
    }
  });
}

/** The cells of the rows of the first table in a guide whose head begins with a text. */
function tableIn(guide: string, head: string): string[][] {
  const [, table = ''] = readFileSync(join(ROOT, guide), 'utf8').split(head);
  const rows = table
    .slice(table.indexOf('\n') + 1)
    .split('\n\n')[0]!
    .split('\n')
    .slice(1);
  return rows.map((row) =>
    row
      .split('|', 5)
      .slice(1)
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
    'add its row to the table in docs/tokens.md, and to LIFETIMES above',
  );
  for (const [what = '', long = '', short = ''] of rows) {
    const name = LIFETIMES[what]!;
    const cells = { long, short: short === 'the same' ? long : short };
    for (const preset of ['long', 'short'] as const) {
      const { lifetimes } = resolved(preset).tokens;
      t.is(parseDuration(cells[preset].split(',')[0]), lifetimes[name], `${what}, ${preset}`);
    }
  }
});

/** The limit and the window of each row of the table of limits. */
const LIMITS: Readonly<Record<string, string>> = {
  'login, one account from a browser that it has signed in on before': 'limits.attempts.login.perDevice',
  'login, one account from one address': 'limits.attempts.login.perAccountAndAddress',
  'login, one account from anywhere': 'limits.attempts.login.perAccount',
  'login, one address': 'limits.attempts.login.perAddress',
  "an app's secret or key, from one address": 'limits.attempts.clientAuthentication.perClientAndAddress',
  "apps' secrets and keys, one address": 'limits.attempts.clientAuthentication.perAddress',
  'wrong codes of devices, one user': 'devices.userCodes.perUser',
  'wrong codes of devices, one address': 'devices.userCodes.perAddress',
  'requests of devices, one address, for public clients': 'devices.requests.perAddress',
  'requests of devices, one confidential client': 'devices.requests.perClient',
  'pushed requests, one address, for public clients': 'pushedRequests.requests.perAddress',
  'pushed requests, one confidential client': 'pushedRequests.requests.perClient',
};

const windowOf = (limit: string): string => limit.replace(/\.per\w+$/, '.window');

test('the table of limits has each limit with its window', (t) => {
  const rows = tableIn('docs/limits.md', '| | within | limit |');
  // Wrong verifiers have no option.
  const limits = rows.filter(([what = '']) => !what.includes('PKCE'));
  const names = limits.map(([what = '']) => LIMITS[what] ?? `unknown: ${what}`);
  const expected = [...DEFAULTS.keys()].filter(
    (name) => /\.per\w+$/.test(name) && DEFAULTS.has(windowOf(name)),
  );
  t.deepEqual(
    names.toSorted(),
    expected.toSorted(),
    'add its row to `attempts` of test/docs/limit-tables.ts and to LIMITS above, then: npm run options',
  );
  for (const [index, [what = '', window = '', limit = '']] of limits.entries()) {
    const name = names[index]!;
    t.is(Number.parseInt(limit, 10), DEFAULTS.get(name) as number, what);
    t.is(parseDuration(window), DEFAULTS.get(windowOf(name)) as number, what);
  }
});
