import type { Command } from 'commander';

import { durationWithUnit } from '../../cli/arguments.ts';
import { UsageError } from '../../cli/failure.ts';
import { uncheckedNames } from '../../cli/gate-file.ts';
import type { GateFile } from '../../cli/gate-file.ts';
import { timeJson, timeText } from '../../cli/report.ts';
import { withSession } from '../../cli/session.ts';
import type { Session } from '../../cli/session.ts';
import { table } from '../../cli/table.ts';
import { confirm } from '../../cli/terminal.ts';
import type { Seconds } from '../../contracts/duration.ts';
import { MOST_PERSONAL_TOKENS, personalTokens } from './index.ts';
import type { WithPersonalTokens } from './index.ts';
import type { PersonalToken } from './types.ts';

/** The tokens, with the options of the servers if the file of `--gate` exports them, else with the widest options. */
async function tokensOf({ administration, names }: Session): Promise<WithPersonalTokens['personalTokens']> {
  const widest = personalTokens({ perUser: MOST_PERSONAL_TOKENS });
  const given = names?.features?.find(({ name }) => name === widest.name) as typeof widest | undefined;
  return (await administration.featureMembers(given ?? widest)).personalTokens;
}

interface NewToken {
  readonly userId: string;
  readonly name: string;
  readonly lifetime: Seconds;
  readonly resource?: string;
  readonly scope: readonly string[];
  readonly permission: readonly string[];
  readonly unchecked?: true;
}

/** `gatehouse personal-token list | create | revoke` */
export function addTokenCommands(program: Command): void {
  const token = program
    .command('personal-token')
    .helpCommand(false)
    .summary('list, create and revoke personal access tokens')
    .description(
      'List, create and revoke the personal access tokens of a user (the feature personalTokens() of the servers).',
    );
  token
    .command('list <user-id>')
    .summary('list the tokens of a user')
    .description('List the personal access tokens of a user, newest first. Their values are not stored.')
    .addHelpText(
      'after',
      '\nJSON: {"tokens": [{"id", "user_id", "name", "resource", "scopes", "permissions", "created_at", "expires_at",\n  "last_used_at", "last_used_from"}]}',
    )
    .action(list);
  token
    .command('create')
    .summary('create a token for a user')
    .description(
      'Create a personal access token. It is shown only once. Its permissions are at most those of the user at each request.',
    )
    .requiredOption('--user-id <id>', 'the id of the user')
    .requiredOption('--name <text>', 'what it is for')
    .requiredOption(
      '--lifetime <duration>',
      'how long it works, such as "30 days"; a year at most',
      durationWithUnit,
    )
    .option('--resource <url>', 'the API (default: that of the issuer)')
    .option('--scope <name...>', 'the scopes that it is limited to', [])
    .option('--permission <name...>', 'the permissions, for an API without scopes', [])
    .option('--unchecked', 'also without a --gate by which the user and the names are checked')
    .addHelpText(
      'after',
      '\nJSON: {"token": {...}, "value": "...", "notes": []}, a token as in `personal-token list`',
    )
    .action(create);
  token
    .command('revoke <token-id>')
    .summary('revoke a token')
    .description('Revoke a personal access token. Running servers refuse it within seconds.')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nJSON: {"revoked": "<token-id>" | null}')
    .action(revoke);
}

const list = withSession(async (session, _options: object, userId: string) => {
  const tokens = await (await tokensOf(session)).list(userId);
  const rows = tokens.map(({ expiresAt, id, lastUsedAt, name }) => [
    id,
    name,
    timeJson(expiresAt)!,
    timeJson(lastUsedAt) ?? 'never',
  ]);
  return {
    json: { tokens: tokens.map(tokenJson) },
    text:
      tokens.length === 0 ? 'No tokens.' : table(['Token ID', 'Name', 'Expires', 'Last used'], rows, 'Name'),
  };
});

const create = withSession(async (session, given: NewToken) => {
  const { lifetime, name, permission, resource, scope, unchecked, userId } = given;
  const { names } = session;
  const notes = uncheckedNames(names, { users: [userId], scopes: scope, permissions: permission });
  if (notes.length > 0 && !unchecked)
    throw new UsageError(
      `${notes.join(' ')} Give --gate with a module that exports \`gate\`, \`scopes\` and \`users\`, or --unchecked to create the token all the same.`,
    );
  await checkUser(names, userId);
  checkPermissions(names, permission);
  const token = await (
    await tokensOf(session)
  ).create({
    userId,
    name,
    lifetime,
    resource,
    ...(scope.length > 0 && { scopes: scope }),
    ...(permission.length > 0 && { permissions: permission }),
  });
  return {
    json: { token: tokenJson(token), value: token.value },
    text: `${token.value}\n\nIt is not shown again, and ends on ${timeText(token.expiresAt)} (UTC).`,
    notes: [...notes, 'Servers accept it with the feature personalTokens() only.'],
  };
});

/** @throws UsageError when the host has no such user */
async function checkUser(names: GateFile | undefined, id: string): Promise<void> {
  if (names?.users && !(await names.users.find(id)))
    throw new UsageError(`--user-id: users.find() finds no user ${id}; give the id of one.`);
}

/** @throws UsageError for a permission that the gate does not have */
function checkPermissions(names: GateFile | undefined, given: readonly string[]): void {
  const unknown = given.find((permission) => names?.gate.has(permission) === false);
  if (unknown !== undefined) throw new UsageError(`--permission: the gate has no permission ${unknown}.`);
}

const revoke = withSession(async (session, options: { yes?: boolean }, id: string) => {
  await confirm(`Revoke the token ${id}? Scripts that use it lose their access.`, options);
  const isRevoked = await (await tokensOf(session)).revoke(id);
  return {
    json: { revoked: isRevoked ? id : null },
    text: isRevoked
      ? `Revoked the token ${id}. Running servers apply it within seconds.`
      : `There is no token ${id}.`,
    exitCode: isRevoked ? 0 : 1,
  };
});

function tokenJson(token: PersonalToken): Record<string, unknown> {
  return {
    id: token.id,
    user_id: token.userId,
    name: token.name,
    resource: token.resource ?? null,
    scopes: token.scopes ?? null,
    permissions: token.permissions ?? null,
    created_at: timeJson(token.createdAt),
    expires_at: timeJson(token.expiresAt),
    last_used_at: timeJson(token.lastUsedAt),
    last_used_from: token.lastUsedFrom ?? null,
  };
}
