import type { Command } from 'commander';
import type { Client, ClientChanges } from 'koa-gatehouse';

import { clientText } from '../client-text.ts';
import { UsageError } from '../failure.ts';
import { clientJson } from '../report.ts';
import { changedLifetimes, lifetimeOptions, repeated } from '../arguments.ts';
import type { LifetimeOptions } from '../arguments.ts';
import type { Report } from '../report.ts';
import { withSession } from '../session.ts';
import type { Session } from '../session.ts';
import { uncheckedNames } from '../gate-file.ts';

interface Options extends LifetimeOptions {
  readonly name?: string;
  readonly redirectUri?: readonly string[];
  readonly firstParty?: boolean;
  readonly owner?: string | false;
  readonly scope?: readonly string[];
  readonly allScopes?: true;
  readonly serverLifetimes?: true;
}

/** `gatehouse client update` */
export function addClientUpdate(client: Command): void {
  const command = client
    .command('update')
    .argument('<client-id>')
    .summary('change what is given')
    .description(
      'Change what is given; the rest stays. The grant type and the kind of a client cannot change.',
    )
    .option('--name <name>')
    .option('--redirect-uri <uri>', 'replaces all that there are; can be repeated', repeated)
    .option('--first-party', 'people are not asked for consent')
    .option('--no-first-party', 'people are asked')
    .option('--owner <user-id>')
    .option('--no-owner', 'nobody owns it')
    .option('--scope <name>', 'replaces all that there are; can be repeated', repeated)
    .option('--all-scopes', 'it may ask for every scope')
    .option('--server-lifetimes', 'it has no lifetimes of its own any more')
    .addHelpText('after', '\nJSON: {"client": {...}, "notes": []}, a client as in `client show`')
    .action(withSession(update));
  for (const option of lifetimeOptions()) command.addOption(option);
}

async function update({ administration, names }: Session, options: Options, id: string): Promise<Report> {
  if (!isChange(options)) {
    throw new UsageError('Say what to change; `gatehouse client update --help` lists the options.');
  }
  const client = await administration.clients.update(id, (before) => toChanges(options, before));
  return {
    json: { client: clientJson(client) },
    text: clientText(client),
    notes: uncheckedNames(names, { scopes: options.scope }),
  };
}

function isChange(options: Options): boolean {
  return Object.values(options).some((value) => value !== undefined);
}

function toChanges(options: Options, before: Client): ClientChanges {
  const { allScopes, firstParty, name, owner, redirectUri, scope, serverLifetimes } = options;
  const lifetimes = changedLifetimes(options, serverLifetimes ? {} : before.lifetimes);
  return {
    ...(name === undefined ? {} : { name }),
    ...(redirectUri === undefined ? {} : { redirectUris: redirectUri }),
    ...(firstParty === undefined ? {} : { firstParty }),
    ...(owner === undefined ? {} : { ownerId: owner === false ? undefined : owner }),
    ...(scope === undefined && !allScopes ? {} : { scopes: allScopes ? undefined : scope }),
    ...(lifetimes === undefined && !serverLifetimes ? {} : { lifetimes: lifetimes ?? {} }),
  };
}
