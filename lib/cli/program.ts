import { createRequire } from 'node:module';

import { Command, CommanderError, Option } from 'commander';

import { addAuditCommands } from './commands/audit.ts';
import { addClientChanges } from './commands/client-changes.ts';
import { addClientCreate, addClientUpdate } from './commands/client-fields.ts';
import { addClientList, addClientShow } from './commands/client-list.ts';
import { addClientLogo } from './commands/client-changes.ts';
import { addClientPermissions } from './commands/client-permissions.ts';
import { addClientSecrets } from './commands/client-secrets.ts';
import { addDoctor } from './commands/storage.ts';
import { addKeysCommands } from './commands/keys.ts';
import { addRevoke } from './commands/storage.ts';
import { addBackup, addMigrate, addPrune } from './commands/storage.ts';
import { addUserCommands } from './commands/users.ts';
import { FEATURE_COMMANDS } from '../features/shipped.ts';
import { redact, reportFailure } from './failure.ts';

const { version } = createRequire(import.meta.url)('koa-gatehouse/package.json') as { version: string };

/**
 * Runs the command line. Resolves to the exit code: 0 for success, 1 for a failure, 2 for wrong arguments or settings, 130 when
 * interrupted.
 */
export async function run(words: readonly string[]): Promise<number> {
  const program = await createProgram();
  allowUnknownOptionsFirst(program, words);
  try {
    await program.parseAsync(words, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // Commander has written the message itself.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return reportFailure(error, { json: words.includes('--json') });
  }
}

/**
 * Makes all options optional when an option does not exist: otherwise Commander would answer `--nam` with the error that `--name` is
 * missing. It refuses the unknown option, and names the most similar one, before it runs the command.
 */
function allowUnknownOptionsFirst(program: Command, words: readonly string[]): void {
  const commands = [program];
  for (const word of words) {
    const named = commands.at(-1)!.commands.find((command) => command.name() === word);
    if (named) commands.push(named);
  }
  const known = new Set(['--help', ...commands.flatMap(({ options }) => options.map(({ long }) => long))]);
  const isUnknown = words.some((word) => /^--\w/.test(word) && !known.has(word.replace(/=.*/s, '')));
  if (isUnknown) for (const option of commands.at(-1)!.options) option.makeOptionMandatory(false);
}

async function createProgram(): Promise<Command> {
  const program = new Command('gatehouse')
    .description('Manages the database of a koa-gatehouse server: its tables, clients and keys.')
    .addOption(
      new Option(
        '--database <url>',
        'sqlite:./data.db, postgres://user@host/name or mysql://user@host/name',
      ).env('DATABASE_URL'),
    )
    .option(
      '--gate <file>',
      'a module that exports `gate` (and `scopes`, `resources`, `features`, `lifetimes`, `users`), to check what clients and tokens are given',
    )
    .option('--json', 'print one JSON document; times are ISO 8601, unset values are null')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, subcommandTerm: commandTerm })
    .configureOutput({
      // Commander quotes unknown arguments, which may be the URL of a database with its password.
      outputError: (text, write) => write(redact(text)),
    })
    .addHelpText('after', EPILOGUE);
  addMigrate(program);
  addBackup(program);
  addClientCommands(program);
  addKeysCommands(program);
  for (const load of FEATURE_COMMANDS) (await load())(program);
  addUserCommands(program);
  addAuditCommands(program);
  addRevoke(program);
  addPrune(program);
  addDoctor(program);
  return program;
}

const EPILOGUE = `
Environment:
  DATABASE_URL        the database URL; its password is then not in the list of processes
  KEY_ENCRYPTION_KEY  the servers' secrets.keyEncryptionKey, for keys and doctor; several newest first, with commas;
                      false: keys are stored unencrypted, also in production

Exit codes: 0 done, 1 failed (doctor: found an error), 2 wrong arguments or settings, 130 interrupted.
With --json, errors are on stderr as {"error": {"code", "message", "fields"}}.`;

/** `gatehouse client ...` */
function addClientCommands(program: Command): void {
  const client = program
    .command('client')
    .helpCommand(false)
    .summary('register, list, change and import clients')
    .description('Register, list and change clients, and import them.');
  addClientCreate(client);
  addClientList(client);
  addClientShow(client);
  addClientUpdate(client);
  addClientLogo(client);
  addClientPermissions(client);
  addClientSecrets(client);
  addClientChanges(client);
}

/** A command with its arguments, for lists of commands. */
function commandTerm(command: Command): string {
  return [command.name(), ...command.registeredArguments.map((argument) => `<${argument.name()}>`)].join(' ');
}
