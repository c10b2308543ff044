import { Option } from 'commander';
import type { Command } from 'commander';

import { interruptible } from '../../../cli/terminal.ts';
import { importClients, importReport } from './import.ts';
import { countLiveTokens } from './live-tokens.ts';
import { withSession } from '../../../cli/session.ts';
import { addSourceOptions, withSource } from './source.ts';
import type { SourceOptions } from './source.ts';

interface Options extends SourceOptions {
  readonly yes?: boolean;
}

/** `gatehouse client import` */
export function addClientImport(client: Command): void {
  const command = client
    .command('import')
    .summary('import clients from Laravel Passport')
    .description(
      'Import clients from Laravel Passport, versions 8 to 13, with their ids and secrets. Without --yes it only prints what it would do. It can be run again: imported clients are not changed.',
    )
    .addOption(
      new Option('--from <server>', 'where the clients come from')
        .choices(['laravel-passport'])
        .makeOptionMandatory(),
    );
  addSourceOptions(command)
    .addOption(new Option('--dry-run', 'print what it would do (the default)').conflicts('yes'))
    .option('--yes', 'import')
    .addHelpText(
      'after',
      '\nExits with 1 when clients were refused.\n\n' +
        'JSON: {"dry_run": true, "interrupted": false, "imported": 3, "present": 0, "skipped": 2, "refused": 1,\n' +
        '  "clients": [{"client_id", "name", "result": "imported" | "present" | "skipped" | "refused", "grant_type",\n' +
        '  "disabled", "notes": [], "errors": [{"field", "message"}], "tokens_refused"}]}; on a dry run "imported" are those that would be,\n' +
        '  and "tokens" are the live ones: {"accepted": {"user", "personal", "client", "refresh"}, "last_end",\n' +
        '  "refused": [{"reason", "count"}], "undefined_scopes": those that they name, without those of --gate}',
    )
    .action(run);
}

const run = withSession(async ({ administration, names }, { yes = false, ...given }: Options) =>
  withSource(given, async (source) => {
    const dryRun = !yes;
    const { interrupted, result } = await interruptible(
      { label: dryRun ? 'Checking' : 'Importing', total: await source.countClients() },
      async (running) => importClients(source, administration, { dryRun, ...running }),
    );
    const refusals = new Map(result.map((one) => [one.client_id, one.tokens_refused ?? undefined]));
    const tokens =
      dryRun && !interrupted ? await countLiveTokens(source, refusals, names?.scopes) : undefined;
    return importReport(result, { dryRun, interrupted, tokens });
  }),
);
