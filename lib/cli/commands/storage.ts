import type { Command } from 'commander';

import type { Report } from '../report.ts';
import { withSession } from '../session.ts';
import type { Session } from '../session.ts';
import { formatCount, INTERRUPTED, interruptible } from '../terminal.ts';

/** `gatehouse prune` */
export function addPrune(program: Command): void {
  program
    .command('prune')
    .summary('remove expired rows')
    .description('Remove expired rows, in small batches. Servers can use the database meanwhile.')
    .addHelpText('after', '\nJSON: {"removed": 1200, "interrupted": false}')
    .action(withSession(prune));
}

async function prune({ administration }: Session): Promise<Report> {
  const { interrupted, result: removed } = await interruptible(
    { label: 'Removing expired rows' },
    async (running) => administration.prune(running),
  );
  return {
    json: { removed, interrupted },
    text: interrupted
      ? `Interrupted: removed ${formatCount(removed)} expired rows, there may be more.`
      : `Removed ${formatCount(removed)} expired rows.`,
    exitCode: interrupted ? INTERRUPTED : 0,
  };
}

/** `gatehouse migrate` */
export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .summary('create or update the tables')
    .description('Create the tables of the database, or bring them up to date.')
    .addHelpText('after', '\nJSON: {"migrated": ["0001_first_tables"]}')
    .action(
      withSession(
        async ({ storage }) => {
          const migrated = await storage.pendingMigrations();
          await storage.migrate();
          // An earlier run may have migrated and failed. Not in `migrate()`, with which servers start without the standby too.
          if (migrated.length === 0) await storage.confirm?.();
          const text =
            migrated.length === 0 ? 'The database is up to date.' : `Migrated: ${migrated.join(', ')}`;
          return { json: { migrated }, text };
        },
        { tables: false, create: true },
      ),
    );
}
