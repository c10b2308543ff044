import type { Command } from 'commander';

import { withSession } from '../../cli/session.ts';
import { trustedIssuers } from './index.ts';

/** `gatehouse allow-app` */
export function addIssuerCommands(program: Command): void {
  program
    .command('allow-app <user-id> <client-id>')
    .helpCommand(false)
    .summary('let an app act for a user again that a trusted issuer allows')
    .description(
      'Let an app act for a user again by the word of a trusted issuer (the feature trustedIssuers() of the servers), after the user has\ndisconnected it.',
    )
    .addHelpText('after', '\nJSON: {"allowed": true | false}')
    .action(allow);
}

const allow = withSession(async ({ administration }, _options: object, userId: string, clientId: string) => {
  const members = await administration.featureMembers(trustedIssuers());
  const allowed = await members.trustedIssuers.allow({ userId, clientId });
  return {
    json: { allowed },
    text: allowed
      ? 'The app can act for the user again, when the issuer allows it.'
      : 'Nobody has ended what an issuer allowed the app for the user.',
    exitCode: allowed ? 0 : 1,
  };
});
