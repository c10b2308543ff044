import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { Administration, AuditRecord } from 'koa-gatehouse';

import { parseDuration, toDate, toSeconds } from '../../contracts/duration.ts';
import type { Seconds } from '../../contracts/duration.ts';
import { withSession } from '../session.ts';
import { table } from '../table.ts';

interface Filter {
  readonly userId?: string;
  readonly clientId?: string;
  readonly type?: readonly string[];
  readonly since?: Seconds;
}

// The largest number of events that one read of the log returns.
const PAGE = 200;

/** `gatehouse audit list | export` */
export function addAuditCommands(program: Command): void {
  const audit = program
    .command('audit')
    .helpCommand(false)
    .summary('list and export the events of the audit log')
    .description('List and export the events that the servers have stored, for retention.audit.');
  withFilters(
    audit
      .command('list')
      .summary('list the latest events')
      .description('List the latest events, newest first, with the reason of each request that was refused.')
      .option('--limit <number>', 'how many', limit, 50),
  )
    .addHelpText('after', '\nJSON: {"events": [{"id", "type", "at", ...}]}')
    .action(list);
  withFilters(
    audit
      .command('export')
      .summary('print events as NDJSON')
      .description(
        'Print all events, newest first, as NDJSON: one JSON object on each line, while they are read.',
      ),
  ).action(exportEvents);
}

function withFilters(command: Command): Command {
  return command
    .option('--user-id <id>', 'only those about a user')
    .option('--client-id <id>', 'only those about a client')
    .option('--type <name...>', 'only those of a type, such as token_refused')
    .option('--since <time>', 'such as 2027-05-31, 2027-05-31T12:00Z, or "7 days" ago', past);
}

const list = withSession(
  async ({ administration }, { limit: most, ...filter }: Filter & { limit: number }) => {
    const events: AuditRecord[] = [];
    for await (const event of eventsOf(administration, filter)) {
      if (events.length === most) break;
      events.push(event);
    }
    const rows = events.map((event) => [toDate(event.at).toISOString(), event.type, aboutText(event)]);
    return {
      json: { events: events.map(eventJson) },
      text: events.length === 0 ? 'No events.' : table(['Time (UTC)', 'Event', 'About'], rows, 'About'),
    };
  },
);

const exportEvents = withSession(async ({ administration }, filter: Filter) => {
  for await (const event of eventsOf(administration, filter))
    process.stdout.write(`${JSON.stringify(eventJson(event))}\n`);
  return undefined;
});

/** The stored events, newest first, read page by page. */
async function* eventsOf(
  { audit }: Pick<Administration, 'audit'>,
  { clientId, since = 0, type, userId }: Filter,
): AsyncGenerator<AuditRecord> {
  const filter = { clientId, userId, types: type as readonly AuditRecord['type'][] | undefined, limit: PAGE };
  for (let before: AuditRecord | undefined; ;) {
    const page = await audit.list({ ...filter, after: before });
    for (const event of page) {
      if (event.at < since) return;
      yield event;
    }
    before = page.at(-1);
    if (page.length < PAGE) return;
  }
}

/** An event as JSON, with names and times as in all JSON of the command. */
function eventJson({ at, id, type, ...about }: AuditRecord): Record<string, unknown> {
  const named = Object.entries(about).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value as unknown,
  ]);
  return { id, type, at: toDate(at).toISOString(), ...(Object.fromEntries(named) as object) };
}

function aboutText(event: AuditRecord): string {
  const { at: _at, id: _id, type: _type, ...about } = eventJson(event);
  return Object.entries(about)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
}

function limit(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= 10_000) return number;
  throw new InvalidArgumentError('Give a number from 1 to 10000; `audit export` has no limit.');
}

function past(text: string): Seconds {
  const ago = parseDuration(text);
  if (ago !== undefined) return toSeconds(Date.now()) - ago;
  const at = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : NaN;
  if (!Number.isNaN(at)) return toSeconds(at);
  throw new InvalidArgumentError(
    "Give a date such as 2027-05-31, a time such as 2027-05-31T12:00Z, or how long ago, such as '7 days'.",
  );
}
