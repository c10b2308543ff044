import { Option } from 'commander';
import type { Command } from 'commander';

import { UsageError } from '../failure.ts';
import { interruptible } from '../terminal.ts';
import { importClients, importReport } from './import.ts';
import { countLiveTokens } from './live-tokens.ts';
import { withSession } from '../session.ts';

interface Options {
  readonly prefix?: string;
  readonly source?: string;
  readonly yes?: boolean;
}

/** `gatehouse client import` */
export function addClientImport(client: Command): void {
  client
    .command('import')
    .summary('import clients from Laravel Passport')
    .description(
      'Import clients from Laravel Passport, versions 8 to 13, with their ids and secrets. Without --yes it only prints what it would do. It can be run again: imported clients are not changed.',
    )
    .addOption(
      new Option('--from <server>', 'where the clients come from')
        .choices(['passport'])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--source <url>', 'the database of the Laravel app; nothing is written to it').env(
        'PASSPORT_DATABASE_URL',
      ),
    )
    .option('--prefix <text>', 'the prefix of the tables of the Laravel app')
    .addOption(new Option('--dry-run', 'print what it would do (the default)').conflicts('yes'))
    .option('--yes', 'import')
    .addHelpText(
      'after',
      '\nExits with 1 when clients were refused.\n\n' +
        'JSON: {"dry_run": true, "interrupted": false, "imported": 3, "present": 0, "skipped": 2, "refused": 1,\n' +
        '  "clients": [{"client_id", "name", "result": "imported" | "present" | "skipped" | "refused", "grant_type",\n' +
        '  "disabled", "notes": [], "errors": [{"field", "message"}], "tokens_refused"}]}; on a dry run "imported" are those that would be,\n' +
        '  and "tokens" are the live ones: {"accepted": {"user", "personal", "client", "refresh"}, "last_end",\n' +
        '  "refused": [{"reason", "count"}]}',
    )
    .action(run);
}

const run = withSession(async ({ administration }, { prefix, source: url, yes = false }: Options) => {
  if (!url) {
    throw new UsageError(
      'Give the database of the Laravel app: --source URL, or the environment variable PASSPORT_DATABASE_URL.',
    );
  }
  const { passportSource } = await import('koa-gatehouse/adapters/knex');
  const source = passportSource(url, { prefix, readOnly: true });
  const dryRun = !yes;
  try {
    const { interrupted, result } = await interruptible(
      { label: dryRun ? 'Checking' : 'Importing', total: await source.count() },
      async (running) => importClients(source, administration, { dryRun, ...running }),
    );
    const refusals = new Map(result.map((one) => [one.client_id, one.tokens_refused ?? undefined]));
    const tokens = dryRun && !interrupted ? await countLiveTokens(source, refusals) : undefined;
    return importReport(result, { dryRun, interrupted, tokens });
  } finally {
    await source.close();
  }
});
