import type { Command } from 'commander';

import { print } from '../report.ts';
import { requireDatabase, withSession } from '../session.ts';
import type { GlobalOptions } from '../session.ts';
import { formatCount, INTERRUPTED, interruptible } from '../terminal.ts';

/** `gatehouse prune` */
export function addPrune(program: Command): void {
  program
    .command('prune')
    .summary('remove expired rows')
    .description('Remove expired rows, in small batches. Servers can use the database meanwhile.')
    .addHelpText('after', '\nJSON: {"removed": 1200, "interrupted": false}')
    .action(prune);
}

const prune = withSession(async ({ administration }) => {
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
});

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

/** `gatehouse backup` */
export function addBackup(program: Command): void {
  program
    .command('backup <file>')
    .summary('copy an SQLite database to a new file')
    .description(
      'Copy an SQLite database to a new file while servers use it. For PostgreSQL use pg_dump, for MariaDB mariadb-dump --single-transaction. Keep KEY_ENCRYPTION_KEY apart from the copies. After a restore, run `gatehouse revoke --all`.',
    )
    .addHelpText('after', '\nJSON: {"backup": "<file>"}')
    .action(async (file: string, _options: object, command: Command) => {
      const { database, json: asJson = false } = command.optsWithGlobals<GlobalOptions>();
      const address = requireDatabase(database);
      const { backupSqlite } = await import('koa-gatehouse/adapters/knex');
      await backupSqlite(address, file);
      print({ json: { backup: file }, text: `Written: ${file}` }, { asJson });
    });
}
