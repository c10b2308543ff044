import { Option } from 'commander';
import type { Command } from 'commander';
import type { ClientGrantType } from 'koa-gatehouse';

import { keyNotes, keyOptions, readKeys } from '../client-keys.ts';
import type { KeyOptions } from '../client-keys.ts';
import { clientText, newSecretText } from '../client-text.ts';
import { clientJson, secretJson } from '../report.ts';
import { changedLifetimes, lifetimeOptions, repeated } from '../arguments.ts';
import type { LifetimeOptions } from '../arguments.ts';
import type { Report } from '../report.ts';
import { withSession } from '../session.ts';
import type { Session } from '../session.ts';
import { uncheckedNames } from '../gate-file.ts';

interface Options extends LifetimeOptions, KeyOptions {
  readonly name: string;
  readonly grantType: ClientGrantType;
  readonly redirectUri?: readonly string[];
  readonly public?: true;
  readonly native?: true;
  readonly firstParty?: true;
  readonly owner?: string;
  readonly scope?: readonly string[];
  readonly role?: readonly string[];
  readonly permission?: readonly string[];
}

/** `gatehouse client create` */
export function addClientCreate(client: Command): void {
  const command = client
    .command('create')
    .summary('register a client')
    .description(
      'Register a client. A confidential client without keys gets a secret, which is shown only once.',
    )
    .requiredOption('--name <name>', 'shown on the consent page')
    .addOption(
      new Option(
        '--grant-type <type>',
        'for users (authorization_code), for the client itself (client_credentials), or for users of a command line or device (device_code)',
      )
        .choices(['authorization_code', 'client_credentials', 'device_code'])
        .makeOptionMandatory(),
    )
    .option('--redirect-uri <uri>', 'redirect URI, for authorization_code; can be repeated', repeated)
    .option('--public', 'public client, such as a browser app or a command line, without a secret')
    .option('--native', 'installed app: a public client whose loopback redirect URIs match on any port')
    .option('--first-party', 'app of the platform itself: users are not asked for consent')
    .option('--owner <user-id>', 'the user who owns it in the developer area')
    .option('--scope <name>', 'a scope that it may request; can be repeated (default: all)', repeated)
    .option('--role <name>', 'for client_credentials; can be repeated', repeated)
    .option('--permission <name>', 'for client_credentials; can be repeated', repeated)
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  gatehouse client create --name Reports --grant-type client_credentials --permission view_schools\n' +
        '  gatehouse client create --name Portal --grant-type authorization_code --redirect-uri https://portal.example/callback\n' +
        '  gatehouse client create --name "School CLI" --grant-type device_code --public\n\n' +
        'JSON: {"client": {...}, "client_secret": "..." | null, "secret": {...} | null, "notes": []},\n  as in `client show`',
    )
    .action(withSession(create));
  for (const option of [...keyOptions(), ...lifetimeOptions()]) command.addOption(option);
}

async function create({ administration, names }: Session, options: Options): Promise<Report> {
  const lifetimes = changedLifetimes(options);
  const keys = await readKeys(options);
  const { client, secret } = await administration.clients.create({
    name: options.name,
    grantType: options.grantType,
    redirectUris: options.redirectUri ?? [],
    confidential: !options.public && !options.native,
    native: options.native ?? false,
    firstParty: options.firstParty ?? false,
    ownerId: options.owner,
    scopes: options.scope,
    roles: options.role ?? [],
    permissions: options.permission ?? [],
    ...(keys && { keys }),
    ...(lifetimes && { lifetimes }),
  });
  const notes = [...uncheckedNames(names, client), ...keyNotes(client, options, 0)];
  return {
    json: {
      client: clientJson(client),
      client_secret: secret?.value ?? null,
      secret: secret ? secretJson(secret) : null,
    },
    text: [clientText(client), ...(secret ? [newSecretText(client.id, secret.value)] : [])].join('\n\n'),
    notes,
  };
}
