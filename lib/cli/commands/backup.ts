import type { Command } from 'commander';

import { print } from '../report.ts';
import { requireDatabase } from '../session.ts';
import type { GlobalOptions } from '../session.ts';

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
