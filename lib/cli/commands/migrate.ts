import type { Command } from 'commander';

import { opened } from '../session.ts';

/** `gatehouse migrate` */
export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .summary('create or update the tables')
    .description('Create the tables of the database, or bring them up to date.')
    .addHelpText('after', '\nJSON: {"migrated": ["0001_first_tables"]}')
    .action(
      opened(
        async ({ storage }) => {
          const migrated = await storage.pendingMigrations();
          await storage.migrate();
          const text =
            migrated.length === 0 ? 'The database is up to date.' : `Migrated: ${migrated.join(', ')}`;
          return { json: { migrated }, text };
        },
        { tables: false },
      ),
    );
}
