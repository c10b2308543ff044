import type { Command } from 'commander';
import type { ClientRegistry } from 'koa-gatehouse';

import { clientText } from '../client-text.ts';
import { UsageError } from '../failure.ts';
import { clientJson } from '../report.ts';
import { repeated } from '../repeated.ts';
import type { Report } from '../report.ts';
import { opened } from '../session.ts';
import type { Session } from '../session.ts';
import { uncheckedNames } from '../gate-file.ts';

interface Options {
  readonly name?: string;
  readonly redirectUri?: readonly string[];
  readonly firstParty?: boolean;
  readonly owner?: string | false;
  readonly scope?: readonly string[];
  readonly allScopes?: true;
}

/** `gatehouse client update` */
export function addClientUpdate(client: Command): void {
  client
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
    .addHelpText('after', '\nJSON: {"client": {...}, "notes": []}, a client as in `client show`')
    .action(opened(update));
}

async function update({ administration, names }: Session, options: Options, id: string): Promise<Report> {
  const changes = toChanges(options);
  if (Object.keys(changes).length === 0) {
    throw new UsageError('Say what to change; `gatehouse client update --help` lists the options.');
  }
  const client = await administration.clients.update(id, changes);
  return {
    json: { client: clientJson(client) },
    text: clientText(client),
    notes: uncheckedNames(names, { scopes: options.scope }),
  };
}

function toChanges(options: Options): Parameters<ClientRegistry['update']>[1] {
  const { allScopes, firstParty, name, owner, redirectUri, scope } = options;
  return {
    ...(name === undefined ? {} : { name }),
    ...(redirectUri === undefined ? {} : { redirectUris: redirectUri }),
    ...(firstParty === undefined ? {} : { firstParty }),
    ...(owner === undefined ? {} : { ownerId: owner === false ? undefined : owner }),
    ...(scope === undefined && !allScopes ? {} : { scopes: allScopes ? undefined : scope }),
  };
}
