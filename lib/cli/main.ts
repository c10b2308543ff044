#!/usr/bin/env node
import '#runtime';

import { parseArgs } from 'node:util';

import { GatehouseError } from 'koa-gatehouse';

import { migrate } from './migrate.ts';
import { prune } from './prune.ts';

const COMMANDS: Readonly<Record<string, (database: string) => Promise<string>>> = { migrate, prune };

const USAGE = `Usage: gatehouse <command> [--database URL]

Commands:
  migrate   create the tables of the database, or bring them up to date
  prune     remove the rows that have expired

Options:
  --database URL   sqlite:./data.db, postgres://... or mysql://... (default: the environment variable DATABASE_URL)
  --help           show this
`;

process.exitCode = await run(process.argv.slice(2));

/** Runs one command. Resolves to the exit code: 0 done, 1 failed, 2 called wrongly. */
async function run(words: string[]): Promise<number> {
  let parsed;
  try {
    parsed = parseArgs({
      args: words,
      allowPositionals: true,
      options: { database: { type: 'string' }, help: { type: 'boolean' } },
    });
  } catch (error) {
    return misuse((error as Error).message);
  }
  const { positionals, values } = parsed;
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const [name = '', ...rest] = positionals;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command || rest.length > 0)
    return misuse(name === '' ? 'A command is missing.' : `There is no command "${positionals.join(' ')}".`);
  const database = values.database ?? process.env['DATABASE_URL'];
  if (!database)
    return misuse('Say which database: --database URL, or the environment variable DATABASE_URL.');
  try {
    process.stdout.write(`${await command(database)}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

function misuse(message: string): number {
  process.stderr.write(`${message}\n\n${USAGE}`);
  return 2;
}
