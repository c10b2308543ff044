import type { Command } from 'commander';

import { withSession } from '../session.ts';
import { confirm, INTERRUPTED, interruptible } from '../terminal.ts';

/** `gatehouse user-data export | erase` */
export function addUserCommands(program: Command): void {
  const userData = program
    .command('user-data')
    .helpCommand(false)
    .summary('export or erase what is stored of a user')
    .description(
      'Export or erase what is stored of a user, for data protection. The user table of your app is not touched.',
    );
  userData
    .command('export <user-id>')
    .summary('print all that is stored, as JSON')
    .description('Print all that is stored of a user, as one JSON document. Times are in seconds since 1970.')
    .addHelpText(
      'after',
      '\nJSON: {"userId", "assignment", "sessions", "consents", "grants", "apps", "audit"}, and what features have stored',
    )
    .action(exportUser);
  userData
    .command('erase <user-id>')
    .summary('end all access, and delete what is stored')
    .description(
      'End all logins, tokens and grants of a user, and delete what is stored, in small batches. In audit records and as owner of apps, the user becomes "(erased)". Remove the user from your app first: a user who goes on using it makes the command fail. It can be stopped and repeated.',
    )
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nJSON: {"erased": "<user-id>" | null, "rows": <number>}')
    .action(erase);
}

const exportUser = withSession(async ({ administration }, _options: object, id: string) => {
  const stored = await administration.userData.export(id);
  return { json: { ...stored }, text: JSON.stringify(stored, undefined, 2) };
});

const erase = withSession(async ({ administration }, options: { yes?: boolean }, id: string) => {
  await confirm(`Erase all that is stored of the user ${id}?`, options);
  const { interrupted, result: rows } = await interruptible({ label: 'Erasing' }, async (running) =>
    administration.userData.erase(id, running),
  );
  return {
    json: { erased: interrupted ? null : id, rows },
    text: interrupted ? `Stopped after ${rows} rows. Run it again.` : `Erased the user ${id}: ${rows} rows.`,
    exitCode: interrupted ? INTERRUPTED : 0,
  };
});
