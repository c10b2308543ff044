import type { Command } from 'commander';
import type { Administration, Finding } from 'koa-gatehouse';

import { print } from '../report.ts';
import { findClient, requireDatabase, withSession } from '../session.ts';
import type { GlobalOptions, Session } from '../session.ts';
import { confirm, formatCount, INTERRUPTED, interruptible } from '../terminal.ts';
import { wrap } from '../table.ts';
import { UsageError } from '../failure.ts';

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
    .addHelpText('after', '\nJSON: {"migrated": ["0001_tables"]}')
    .action(
      withSession(
        async ({ storage }) => {
          const migrated = await storage.pendingMigrations();
          await storage.migrate();
          // An earlier run may have migrated and then failed. This is not part of `migrate()`, because servers have to start even without
          // the standby.
          if (migrated.length === 0) await storage.confirm();
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

interface DoctorOptions {
  readonly issuer?: string;
}

/** `gatehouse doctor` */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('check the database, the keys and the clients')
    .description(
      'Check migrations, keys, clocks, pruning, clients and, with --issuer, that the server answers at its issuer.',
    )
    .option('--issuer <url>', 'also send requests to the server at its issuer, through its proxy')
    .addHelpText(
      'after',
      '\nExits with 1 when there is an error, with 0 for warnings.\n\n' +
        'JSON: {"findings": [{"code", "severity", "message", "remedy"}], "errors": 0, "warnings": 1}',
    )
    .action(examine);
}

const CHECKED = {
  stored:
    'Checked: the database and its tables, the clock, pruning, keys and clients. With --issuer also what the server answers.',
  all: 'Checked: the database and its tables, the clock, pruning, keys, clients, and what the server answers at its issuer.',
} as const;

const examine = withSession(
  async ({ administration }, { issuer }: DoctorOptions) => {
    const findings = await administration.doctor(issuer === undefined ? {} : { issuer });
    const errors = findings.filter(({ severity }) => severity === 'error').length;
    const warnings = findings.length - errors;
    return {
      json: { findings, errors, warnings },
      text: [
        ...findings.map(toText),
        `${CHECKED[issuer === undefined ? 'stored' : 'all']}\n${summary(errors, warnings)}`,
      ].join('\n\n'),
      exitCode: errors > 0 ? 1 : 0,
    };
  },
  { tables: false },
);

function toText({ code, message, remedy, severity }: Finding): string {
  const indent = ' '.repeat(9);
  return [`${severity.padEnd(9)}${code}`, wrap(indent, message), wrap(`${indent}→ `, remedy)].join('\n');
}

function summary(errors: number, warnings: number): string {
  if (errors + warnings === 0) return 'No findings.';
  return `${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`;
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

interface RevokeOptions {
  readonly all?: true;
  readonly userId?: string;
  readonly clientId?: string;
  readonly grantId?: string;
  readonly yes?: boolean;
}

/** `gatehouse revoke` */
export function addRevoke(program: Command): void {
  program
    .command('revoke')
    .summary('revoke the tokens of a user, a client or a grant, or all')
    .description(
      'Revoke tokens permanently. After a backup was restored, use --all: it also revokes the tokens that were issued after the backup, and those whose revocation is not in the backup. If a secret has leaked, replace it first, with `client secrets`.',
    )
    .option('--all', 'all tokens, logins and authorizations; remembered consents are deleted')
    .option('--user-id <id>', 'all tokens and logins of a user')
    .option('--client-id <id>', 'all tokens of a client, its own and those of its users')
    .option('--grant-id <id>', 'all tokens of a grant')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nJSON: {"revoked": {"all": true} | {"user_id": "..."} | {"client_id": "..."} | {"grant_id": "..."}}',
    )
    .action(revoke);
}

const revoke = withSession(async (session, { yes = false, ...given }: RevokeOptions) => {
  const [revoked, target, what] = await targetOf(session, given);
  await confirm(`Revoke ${what}?`, { yes });
  await session.administration.revoke(target);
  return { json: { revoked }, text: `Revoked: ${what}. Running servers apply it within seconds.` };
});

type Target = Parameters<Administration['revoke']>[0];

/** What to revoke: as JSON, for the administration and in words. @throws ClientNotFoundError when there is no such client */
async function targetOf(
  session: Session,
  { all, clientId, grantId, userId }: RevokeOptions,
): Promise<readonly [json: object, target: Target, words: string]> {
  const given = [all, clientId, grantId, userId].filter((value) => value !== undefined);
  if (given.length !== 1 || given[0] === '')
    throw new UsageError('Give one of --all, --user-id, --client-id and --grant-id.');
  if (userId !== undefined)
    return [{ user_id: userId }, { userId }, `all tokens and logins of the user ${userId}`];
  if (grantId !== undefined)
    return [{ grant_id: grantId }, { grantId }, `all tokens of the grant ${grantId}`];
  if (clientId === undefined)
    return [{ all: true }, { all: true }, 'all tokens, logins, authorizations and remembered consents'];
  const { name } = await findClient(session, clientId);
  return [{ client_id: clientId }, { clientId }, `all tokens of "${name}" (${clientId})`];
}
