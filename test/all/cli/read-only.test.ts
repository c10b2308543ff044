// What the command does with a database that it may only read, and with one that is not there.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { ExecutionContext } from 'ava';
import test from '../../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { mariadb, postgresql } from '../../adapters/databases.ts';
import { connect, MARIADB, POSTGRESQL } from '../../adapters/servers.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { gatehouse, gatehouseJson, gatehouseProcess } from '../../cli/gatehouse.ts';

interface Findings {
  readonly findings: readonly {
    readonly code: string;
    readonly severity: string;
    readonly message: string;
  }[];
}

/** Creates the tables, a signing key and a client. */
async function fill(address: string): Promise<void> {
  const storage = knexStorage(address);
  await storage.migrate();
  const administration = createAdministration({ storage });
  await administration.signingKeys.rotate();
  await administration.clients.create({ name: 'Nightly', grantType: 'client_credentials' });
  await administration.close();
}

/** A user of the database server, with the given privileges on the tables; resolves to the address for this user. */
async function asUser(t: ExecutionContext, address: string, privileges: string): Promise<string> {
  const url = new URL(address);
  const name = `gatehouse_${randomBytes(4).toString('hex')}`;
  const database = url.pathname.slice(1);
  const isPostgresql = url.protocol.startsWith('postgres');
  const server = connect(isPostgresql ? POSTGRESQL : MARIADB, address);
  const [create, remove] = isPostgresql
    ? [
        [
          `create role ${name} login password 'reading'`,
          `grant usage on schema public to ${name}`,
          `grant ${privileges} on all tables in schema public to ${name}`,
        ],
        [`drop owned by ${name}`, `drop role ${name}`],
      ]
    : [
        [
          `create user '${name}'@'%' identified by 'reading'`,
          `grant ${privileges} on \`${database}\`.* to '${name}'@'%'`,
        ],
        [`drop user '${name}'@'%'`],
      ];
  for (const sql of create) await server.raw(sql);
  t.teardown(async () => {
    for (const sql of remove) await server.raw(sql);
    await server.destroy();
  });
  url.username = name;
  url.password = 'reading';
  return url.href;
}

async function findingsOf(env: { DATABASE_URL: string }): Promise<string[]> {
  const { findings } = await gatehouseJson<Findings>('doctor', env);
  return findings.map(({ code, message, severity }) => `${severity} ${code}: ${message}`);
}

for (const { client, register, empty, name } of [postgresql, mariadb]) {
  const code = name === 'PostgreSQL' ? '42501' : 'ER_TABLEACCESS_DENIED_ERROR';
  const refusal = `(${code}): its user lacks a privilege on the tables.`;

  register(`${name}: a user without any privilege on the tables is told which one is missing`, async (t) => {
    const address = await empty();
    await fill(address);
    const nobody = { DATABASE_URL: await asUser(t, address, 'references') };
    const { findings } = await gatehouseJson<{
      findings: { code: string; message: string; remedy: string }[];
    }>('doctor', nobody);
    t.deepEqual(
      findings.map((finding) => finding.code),
      ['database_not_permitted'],
    );
    t.regex(
      findings[0]!.message,
      /its user lacks a privilege on the tables, which says: .*(?:permission denied for table|command denied to user).*gatehouse_/,
    );
    t.regex(findings[0]!.remedy, /`grant select, insert, update, delete on all tables in schema/);
    const { code: exitCode, errors } = await gatehouse('client list', nobody);
    t.is(exitCode, 1);
    t.regex(errors, /which says: .*gatehouse_/);
  });

  register(
    `${name}: a user without privileges lists clients, and is told what is refused, also before a migration`,
    async (t) => {
      const address = await empty();
      await fill(address);
      const reader = { DATABASE_URL: await asUser(t, address, 'select') };
      const listed = await gatehouse('client list', reader);
      t.is(listed.code, 0);
      t.regex(listed.output, /Nightly/);
      const noMigrations = `migrations_not_permitted: The tables of the database cannot be created or changed ${refusal}`;
      t.deepEqual(await findingsOf(reader), [
        `error database_read_only: The rows of the database cannot be changed ${refusal}`,
        `warning ${noMigrations}`,
      ]);
      const revoked = await gatehouse('revoke --user-id ann --yes', reader);
      t.is(revoked.code, 1);
      t.true(
        revoked.errors.startsWith(`The database could not be used ${refusal.slice(0, -1)}, which says: `),
      );
      t.true(revoked.errors.includes('gatehouse_revocations'), 'and it says which');

      const writer = { DATABASE_URL: await asUser(t, address, 'select, insert, update, delete') };
      t.deepEqual(await findingsOf(writer), [`warning ${noMigrations}`]);
      t.is((await gatehouse('doctor', writer)).code, 0);
      const host = connectHost(client, address);
      await host('gatehouse_migrations').delete();
      await host.destroy();
      const found = await findingsOf(writer);
      t.regex(found[0]!, /^error migration_pending: /);
      t.deepEqual(
        found.filter((finding) => !finding.startsWith('error migration_pending: ')),
        [`error ${noMigrations}`],
      );
      const migrated = await gatehouse('migrate', writer);
      t.is(migrated.code, 1);
      t.true(
        migrated.errors.startsWith(`The database could not be used ${refusal.slice(0, -1)}, which says: `),
      );
    },
  );
}

// Root may write any file, so the command runs as another user then.
const OTHER_USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A file in a folder of its own, which others may read and nobody but this user may write. */
async function readOnlyFile(t: ExecutionContext, journalMode: 'wal' | 'delete'): Promise<string> {
  const folder = temporaryFile('folder');
  mkdirSync(folder);
  const file = join(folder, 'data.db');
  await fill(`sqlite:${file}`);
  const host = connectHost('better-sqlite3', `sqlite:${file}`);
  await host.raw(`pragma journal_mode = ${journalMode}`);
  await host.destroy();
  chmodSync(file, 0o444);
  chmodSync(dirname(folder), 0o755);
  chmodSync(folder, 0o555);
  t.teardown(() => chmodSync(folder, 0o755));
  return file;
}

test('SQLite: the doctor reads a file that may only be read, and says so', async (t) => {
  const file = await readOnlyFile(t, 'delete');
  const words = `doctor --json --database sqlite:${file}`;
  const { code, output } = await gatehouseProcess(words, {}, OTHER_USER);
  t.is(code, 1);
  const { findings } = JSON.parse(output) as Findings;
  t.is(findings.length, 1);
  t.like(findings[0], {
    code: 'database_read_only',
    message:
      'The rows of the database cannot be changed (SQLITE_READONLY): this process may only read the file or its folder.',
  });
  t.deepEqual(readdirSync(dirname(file)), ['data.db']);
});

test('SQLite: a file in WAL mode in a folder that cannot be written is said to be one', async (t) => {
  const words = `client list --database sqlite:${await readOnlyFile(t, 'wal')}`;
  const { code, errors } = await gatehouseProcess(words, {}, OTHER_USER);
  t.is(code, 1);
  t.regex(errors, /\(SQLITE_READONLY_DIRECTORY\): this process may not write in the folder of the file/);
});

test('SQLite: only `migrate` creates a file', async (t) => {
  const file = temporaryFile('typo.db');
  const database = `--database sqlite:${file}`;
  for (const words of ['client list', 'doctor', 'prune', 'signing-keys rotate', 'revoke --all --yes']) {
    const { code, errors } = await gatehouse(`${words} ${database}`);
    t.is(code, 2, words);
    t.is(
      errors,
      `storage: there is no database file ${file}; correct the path, or create the file with \`gatehouse migrate\`.\n`,
    );
    t.false(existsSync(file));
  }
  t.is((await gatehouse(`migrate ${database}`)).code, 0);
  t.is((await gatehouse(`client list ${database}`)).output, 'No clients.\n');
});
