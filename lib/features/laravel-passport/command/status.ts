import type { Command } from 'commander';
import type { Administration, Storage } from 'koa-gatehouse';
import type { LaravelPassportSource, PassportTokenCount } from '../types.ts';

import { toSeconds } from '../../../contracts/duration.ts';
import type { Report } from '../../../cli/report.ts';
import { timeJson } from '../../../cli/report.ts';
import { withSession } from '../../../cli/session.ts';
import { table, wrap } from '../../../cli/table.ts';
import { formatCount } from '../../../cli/terminal.ts';
import { passportStore } from '../store.ts';
import { tokenRefusalOf } from './import.ts';
import { KINDS } from './live-tokens.ts';
import { addSourceOptions, withSource } from './source.ts';
import type { SourceOptions } from './source.ts';

/** `gatehouse laravel-passport ...` */
export function addStatus(program: Command): void {
  const passport = program
    .command('laravel-passport')
    .helpCommand(false)
    .summary('see which tokens of Laravel Passport are in use')
    .description(
      'See which tokens of Laravel Passport are in use at servers with the feature laravelPassport().',
    );
  const status = passport
    .command('status')
    .summary('list the tokens by app, and when the feature laravelPassport() can go')
    .description(
      'List by app how many tokens of Laravel Passport were used at this server within a day and a week, how many are live, when the last one ends, and when the feature laravelPassport() can go.',
    );
  addSourceOptions(status)
    .addHelpText(
      'after',
      '\nLists the apps and kinds of tokens that were used within a week; --json lists all with live tokens. A refresh token is used once:\n' +
        'the app then has tokens of this server.\n\n' +
        'JSON: {"in_use": true, "last_end", "last_day": 3, "last_week": 5, "live": 9,\n' +
        '  "tokens": [{"client_id", "name", "kind": "user" | "personal" | "client" | "refresh", "last_day", "last_week", "live",\n' +
        '  "last_end"}]}; "client_id" is null for refresh tokens whose access tokens were purged',
    )
    .action(run);
}

/** The tokens of an app and a kind, as `--json` prints them. */
interface Status {
  readonly client_id: string | null;
  readonly name: string | null;
  readonly kind: PassportTokenCount['kind'];
  readonly last_day: number;
  readonly last_week: number;
  readonly live: number;
  readonly last_end: string | null;
}

const run = withSession(async ({ administration, storage }, options: SourceOptions) =>
  withSource(options, async (source) => statusReport(await readStatus(source, { administration, storage }))),
);

async function readStatus(
  source: LaravelPassportSource,
  { administration, storage }: { readonly administration: Administration; readonly storage: Storage },
): Promise<readonly Status[]> {
  const names = new Map<string, string>();
  const refused = new Set<string>();
  for await (const client of source.clients()) {
    names.set(client.id, client.name);
    const isImported = (await administration.clients.find(client.id)) !== undefined;
    if (tokenRefusalOf(client, { result: isImported ? 'present' : 'skipped' }) !== null)
      refused.add(client.id);
  }
  const store = await storage.store('passport', passportStore);
  const uses = await store.count(Math.floor(toSeconds(Date.now())));
  const live = (await source.countTokens()).filter(
    ({ clientId }) => clientId === undefined || (names.has(clientId) && !refused.has(clientId)),
  );
  const rows = new Map<string, Status>();
  for (const one of [...uses, ...live]) {
    const key = `${one.kind} ${one.clientId ?? ''}`;
    const before = rows.get(key) ?? {
      client_id: one.clientId ?? null,
      name: names.get(one.clientId ?? '') ?? null,
      kind: one.kind,
      last_day: 0,
      last_week: 0,
      live: 0,
      last_end: null,
    };
    rows.set(key, {
      ...before,
      ...('lastDay' in one
        ? { last_day: one.lastDay, last_week: one.lastWeek }
        : { live: one.count, last_end: timeJson(one.lastEnd) }),
    });
  }
  const order = Object.keys(KINDS);
  return [...rows.values()].toSorted(
    (a, b) =>
      (a.name ?? '').localeCompare(b.name ?? '', 'en') ||
      (a.client_id ?? '').localeCompare(b.client_id ?? '', 'en') ||
      order.indexOf(a.kind) - order.indexOf(b.kind),
  );
}

function statusReport(tokens: readonly Status[]): Report {
  const sum = (member: 'last_day' | 'last_week' | 'live'): number =>
    tokens.reduce((total, one) => total + one[member], 0);
  const lastEnd = tokens.reduce<string | null>(
    (last, one) => (one.last_end !== null && (last === null || one.last_end > last) ? one.last_end : last),
    null,
  );
  const [lastDay, lastWeek, live] = [sum('last_day'), sum('last_week'), sum('live')];
  const used = tokens.filter((one) => one.last_week > 0);
  const rows = used.map((one) => [
    one.client_id ?? '–',
    one.name ?? '–',
    KINDS[one.kind],
    formatCount(one.last_day),
    formatCount(one.last_week),
    formatCount(one.live),
    one.last_end?.slice(0, 10) ?? '–',
  ]);
  const columns = ['Client ID', 'Name', 'Tokens', 'Used in a day', 'In a week', 'Live', 'Last ends'] as const;
  return {
    json: {
      in_use: lastWeek > 0,
      last_end: lastEnd,
      last_day: lastDay,
      last_week: lastWeek,
      live,
      tokens,
    },
    text: [
      ...(rows.length > 0 ? [table(columns, rows, 'Name')] : []),
      ...(used.length > 0 && used.length < tokens.length
        ? [
            wrap(
              '',
              `Not listed: ${formatCount(tokens.length - used.length)} more of which none was used within a week. --json lists them.`,
            ),
          ]
        : []),
      wrap('', conclusion({ lastEnd, lastWeek, live })),
    ].join('\n\n'),
  };
}

function conclusion({
  lastEnd,
  lastWeek,
  live,
}: {
  readonly lastEnd: string | null;
  readonly lastWeek: number;
  readonly live: number;
}): string {
  if (lastEnd === null) return 'No token of Passport is live: the feature laravelPassport() can go.';
  const day = lastEnd.slice(0, 10);
  const all = `${formatCount(live)} live tokens, of which the last one ends on ${day}`;
  return lastWeek > 0
    ? `The feature laravelPassport() is needed: tokens were used within a week. There are ${all}.`
    : `No token of Passport was used within a week. There are ${all}: the feature laravelPassport() can go before that if their users may have to log in again.`;
}
