import { Option } from 'commander';
import type { Command } from 'commander';
import type { Client, ClientChanges } from 'koa-gatehouse';

import { keyNotes, keyOptions, readKeys } from '../client-keys.ts';
import type { KeyOptions } from '../client-keys.ts';
import { clientText } from '../client-text.ts';
import { UsageError } from '../failure.ts';
import { clientJson } from '../report.ts';
import { changedLifetimes, lifetimeOptions, repeated } from '../arguments.ts';
import type { LifetimeOptions } from '../arguments.ts';
import type { Report } from '../report.ts';
import { withSession } from '../session.ts';
import type { Session } from '../session.ts';
import { uncheckedNames } from '../gate-file.ts';

interface Options extends LifetimeOptions, KeyOptions {
  readonly removeKeys?: true;
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
    .command('update <client-id>')
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
    .addOption(
      new Option('--remove-keys', 'it authenticates with its secrets only').conflicts(['jwks', 'jwksUri']),
    )
    .option('--server-lifetimes', "remove its own lifetimes: the server's apply")
    .addHelpText('after', '\nJSON: {"client": {...}, "notes": []}, a client as in `client show`')
    .action(withSession(update));
  for (const option of [...keyOptions(), ...lifetimeOptions()]) command.addOption(option);
}

async function update({ administration, names }: Session, options: Options, id: string): Promise<Report> {
  if (!isChange(options)) {
    throw new UsageError('Give a field to change; `gatehouse client update --help` lists the options.');
  }
  const keys = await readKeys(options);
  const client = await administration.clients.update(id, (before) => ({
    ...toChanges(options, before),
    ...(keys || options.removeKeys ? { keys } : {}),
  }));
  const secrets = client.keys ? await administration.clients.secrets(id) : [];
  return {
    json: { client: clientJson(client) },
    text: clientText(client),
    notes: [
      ...uncheckedNames(names, { scopes: options.scope }),
      ...keyNotes(client, options, secrets.length),
    ],
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
