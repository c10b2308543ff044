import type { Command } from 'commander';
import type { ClientRegistry } from 'koa-gatehouse';

import { clientText } from '../client-text.ts';
import { UsageError } from '../failure.ts';
import { clientJson } from '../json-forms.ts';
import { repeated } from '../repeated.ts';
import type { Report } from '../report.ts';
import { opened } from '../session.ts';
import type { Session } from '../session.ts';
import { uncheckedNames } from '../unchecked.ts';

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
    .summary('change the fields of a client')
    .description(
      'Change the given fields of a client. The grant type and the kind of a client cannot be changed.',
    )
    .option('--name <name>')
    .option('--redirect-uri <uri>', 'replaces all existing ones; can be repeated', repeated)
    .option('--first-party', 'users are not asked for consent')
    .option('--no-first-party', 'users are asked for consent')
    .option('--owner <user-id>')
    .option('--no-owner', 'remove the owner')
    .option('--scope <name>', 'replaces all existing ones; can be repeated', repeated)
    .option('--all-scopes', 'it may request every scope')
    .addHelpText('after', '\nJSON: {"client": {...}, "notes": []}, a client as in `client show`')
    .action(opened(update));
}

async function update({ administration, names }: Session, options: Options, id: string): Promise<Report> {
  const changes = toChanges(options);
  if (Object.keys(changes).length === 0) {
    throw new UsageError('Give a field to change; `gatehouse client update --help` lists the options.');
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
