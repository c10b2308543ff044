import { Option } from 'commander';
import type { Command } from 'commander';
import type { Client, ClientFields } from 'koa-gatehouse';
import type { ClientGrantType } from 'koa-gatehouse/types';

import { clientFieldsOf, clientKindsOf } from '../../features/known.ts';
import { changedLifetimes, lifetimeOptions, repeated } from '../arguments.ts';
import type { LifetimeOptions } from '../arguments.ts';
import { keyNotes, keyOptions, readKeys } from '../client-keys.ts';
import type { KeyOptions } from '../client-keys.ts';
import { clientText, newSecretText } from '../client-text.ts';
import { UsageError } from '../failure.ts';
import { uncheckedNames } from '../gate-file.ts';
import { clientJson, secretJson } from '../report.ts';
import { withSession } from '../session.ts';

const KINDS = [...clientKindsOf(undefined).all.values()];
const FURTHER_FIELDS = clientFieldsOf(undefined).all;

interface CreateOptions extends LifetimeOptions, KeyOptions {
  readonly name: string;
  readonly clientUri?: string;
  readonly verified?: true;
  readonly grantType: ClientGrantType;
  readonly redirectUri?: readonly string[];
  readonly public?: true;
  readonly native?: true;
  readonly firstParty?: true;
  readonly ownerId?: string;
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
        new Intl.ListFormat('en', { type: 'disjunction' }).format(
          KINDS.map(({ command: { about }, name }) => `${about} (${name})`),
        ),
      )
        .choices(KINDS.map(({ name }) => name))
        .makeOptionMandatory(),
    )
    .option('--client-uri <url>', 'its homepage, whose host the consent page shows')
    .option('--verified', 'you vouch for its name and its homepage: users see that they are verified')
    .option('--redirect-uri <uri>', 'redirect URI, for authorization_code; can be repeated', repeated)
    .option('--public', 'public client, such as a browser app or a command line, without a secret')
    .option('--native', 'installed app: a public client whose loopback redirect URIs match on any port')
    .option('--first-party', 'app of the platform itself: users are not asked for consent')
    .option('--owner-id <user-id>', 'the user who owns it')
    .option('--scope <name>', 'a scope that it may request; can be repeated (default: all)', repeated)
    .option('--role <name>', 'for client_credentials; can be repeated', repeated)
    .option('--permission <name>', 'for client_credentials; can be repeated', repeated)
    .addHelpText(
      'after',
      '\nExamples:\n' +
        KINDS.map(({ command: { example } }) => `  gatehouse client create ${example}\n`).join('') +
        '\n' +
        'JSON: {"client": {...}, "client_secret": "..." | null, "secret": {...} | null, "notes": []},\n  as in `client show`',
    )
    .action(create);
  for (const option of [...furtherOptions(), ...keyOptions(), ...lifetimeOptions()])
    command.addOption(option);
}

const create = withSession(async ({ administration, names }, options: CreateOptions) => {
  const lifetimes = changedLifetimes(options);
  const keys = await readKeys(options);
  const { client, secret } = await administration.clients.create({
    name: options.name,
    clientUri: options.clientUri,
    verified: options.verified ?? false,
    grantType: options.grantType,
    redirectUris: options.redirectUri ?? [],
    ...furtherOf(options),
    confidential: !options.public && !options.native,
    native: options.native ?? false,
    firstParty: options.firstParty ?? false,
    ownerId: options.ownerId,
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
});

interface UpdateOptions extends LifetimeOptions, KeyOptions {
  readonly removeKeys?: true;
  readonly name?: string;
  readonly clientUri?: string | false;
  readonly verified?: boolean;
  readonly redirectUri?: readonly string[];
  readonly firstParty?: boolean;
  readonly ownerId?: string | false;
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
    .option('--client-uri <url>', 'its homepage')
    .option('--no-client-uri', 'remove the homepage')
    .option('--verified', 'you vouch for its name, its homepage and its logo')
    .option('--no-verified', 'as after a change of one of them, or of the redirect URIs')
    .option('--redirect-uri <uri>', 'replaces all existing ones; can be repeated', repeated)
    .option('--first-party', 'users are not asked for consent')
    .option('--no-first-party', 'users are asked for consent')
    .option('--owner-id <user-id>')
    .option('--no-owner-id', 'remove the owner')
    .option('--scope <name>', 'replaces all existing ones; can be repeated', repeated)
    .option('--all-scopes', 'it may request every scope')
    .addOption(
      new Option('--remove-keys', 'it authenticates with its secrets only').conflicts(['jwks', 'jwksUri']),
    )
    .option('--server-lifetimes', "remove its own lifetimes: the server's apply")
    .addHelpText('after', '\nJSON: {"client": {...}, "notes": []}, a client as in `client show`')
    .action(update);
  for (const option of [
    ...furtherOptions('; replaces all existing ones'),
    ...keyOptions(),
    ...lifetimeOptions(),
  ])
    command.addOption(option);
  for (const { column, isList } of FURTHER_FIELDS)
    command.option(`--no-${flagOf(column, isList)}`, isList ? 'remove them' : 'it is not told');
}

const update = withSession(async ({ administration, names }, options: UpdateOptions, id: string) => {
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
});

function isChange(options: UpdateOptions): boolean {
  return Object.values(options).some((value) => value !== undefined);
}

function toChanges(options: UpdateOptions, before: Client): Partial<Omit<ClientFields, 'grantType'>> {
  const { allScopes, clientUri, firstParty, name, ownerId } = options;
  const { redirectUri, scope, serverLifetimes, verified } = options;
  const lifetimes = changedLifetimes(options, serverLifetimes ? {} : before.lifetimes);
  return {
    ...(name === undefined ? {} : { name }),
    ...(clientUri === undefined ? {} : { clientUri: clientUri === false ? undefined : clientUri }),
    ...(verified === undefined ? {} : { verified }),
    ...(redirectUri === undefined ? {} : { redirectUris: redirectUri }),
    ...furtherOf(options),
    ...(firstParty === undefined ? {} : { firstParty }),
    ...(ownerId === undefined ? {} : { ownerId: ownerId === false ? undefined : ownerId }),
    ...(scope === undefined && !allScopes ? {} : { scopes: allScopes ? undefined : scope }),
    ...(lifetimes === undefined && !serverLifetimes ? {} : { lifetimes: lifetimes ?? {} }),
  };
}

/** The options for the fields that features bring. */
function furtherOptions(ofLists = ''): Option[] {
  return FURTHER_FIELDS.map(({ column, help, isList }) => {
    const option = new Option(
      `--${flagOf(column, isList)} <uri>`,
      isList ? `${help}${ofLists}; can be repeated` : help,
    );
    return isList ? option.argParser(repeated) : option;
  });
}

/** The name of an option, such as `background-uri`; for a list, in the singular. */
function flagOf(column: string, isList: boolean): string {
  const flag = column.replaceAll('_', '-');
  return isList ? flag.replace(/s$/, '') : flag;
}

/** The given values of these fields; the option value `false` removes a value. */
function furtherOf(options: object): Partial<ClientFields> {
  const given = options as Readonly<Record<string, string | readonly string[] | false | undefined>>;
  return Object.fromEntries(
    FURTHER_FIELDS.flatMap(({ isList, name }) => {
      const value = given[isList ? name.replace(/s$/, '') : name];
      return value === undefined ? [] : [[name, value === false ? (isList ? [] : undefined) : value]];
    }),
  );
}
