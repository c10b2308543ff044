import type { Command } from 'commander';
import type { Administration } from 'koa-gatehouse';

import { UsageError } from '../failure.ts';
import { withSession } from '../session.ts';
import { confirm } from '../terminal.ts';

type Target = Extract<Parameters<Administration['revoke']>[0], { all: true } | { user: string }>;

interface Options {
  readonly all?: true;
  readonly user?: string;
  readonly yes?: boolean;
}

/** `gatehouse revoke` */
export function addRevoke(program: Command): void {
  program
    .command('revoke')
    .summary('revoke all tokens, or those of a user')
    .description(
      'Revoke tokens permanently. After a backup was restored, use --all: it also revokes the tokens that were issued after the backup, and those whose revocation is not in the backup. For one client, see `client revoke-tokens`.',
    )
    .option('--all', 'all tokens, logins and authorizations; remembered consents are deleted')
    .option('--user <user-id>', 'all tokens and logins of a user')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nJSON: {"revoked": {"all": true} | {"user": "<user-id>"}}')
    .action(revoke);
}

const revoke = withSession(async ({ administration }, { yes = false, ...given }: Options) => {
  const target = targetOf(given);
  const what =
    'all' in target
      ? 'all tokens, logins, authorizations and remembered consents'
      : `all tokens and logins of the user ${target.user}`;
  await confirm(`Revoke ${what}?`, { yes });
  await administration.revoke(target);
  return { json: { revoked: target }, text: `Revoked: ${what}. Running servers apply it within seconds.` };
});

function targetOf({ all, user }: Options): Target {
  if (all && user === undefined) return { all };
  if (!all && user) return { user };
  throw new UsageError('Give --all, or --user with the id of a user.');
}
