import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';

import { clientText, secretsText, sourceText } from '../client-text.ts';
import { clientJson, secretJson } from '../report.ts';
import { findClient, withSession } from '../session.ts';
import { table } from '../table.ts';

interface Options {
  readonly search?: string;
  readonly ownerId?: string;
  readonly after?: string;
  readonly limit: number;
}

/** `gatehouse client list` */
export function addClientList(client: Command): void {
  client
    .command('list')
    .summary('list clients by name')
    .description('List clients by name, a page at a time.')
    .option('--search <text>', 'what the name, or a word in it, begins with; or a client id')
    .option('--owner-id <user-id>', 'clients of this owner')
    .option('--limit <number>', 'how many at most, 1 to 200', limit, 50)
    .option('--after <client-id>', 'the page after this client')
    .addHelpText('after', '\nJSON: {"clients": [{...}], "next": "<client-id for --after>" | null}')
    .action(list);
}

const list = withSession(async ({ administration }, { after, limit: most, ownerId, search }: Options) => {
  const clients = await administration.clients.list({ after, limit: most, ownerId, search });
  const next = clients.length === most ? clients.at(-1)!.id : null;
  // A column that has the same value for every client is left out.
  const isUnregistered = clients.some(({ source }) => source !== 'manual');
  const rows = clients.map((client) => [
    client.id,
    client.name,
    ...(isUnregistered ? [sourceText(client)] : []),
    client.grantType,
    client.disabled ? 'disabled' : 'enabled',
  ]);
  return {
    json: { clients: clients.map(clientJson), next },
    text: [
      clients.length === 0
        ? 'No clients.'
        : table(
            ['Client ID', 'Name', ...(isUnregistered ? ['Registered'] : []), 'Grant type', 'Status'],
            rows,
            'Name',
          ),
      ...(next === null ? [] : [`There may be more: --after ${next}`]),
    ].join('\n\n'),
  };
});

function limit(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > 200) {
    throw new InvalidArgumentError('Give a number from 1 to 200.');
  }
  return number;
}

/** `gatehouse client show` */
export function addClientShow(client: Command): void {
  client
    .command('show <client-id>')
    .summary('show a client and its secrets')
    .description('Show a client and its secrets. The values of secrets are not stored.')
    .addHelpText(
      'after',
      '\nJSON: {"client": {"client_id", "name", "client_uri", "logo" (its SHA-256), "verified", "source",\n' +
        '  "grant_type", "redirect_uris", "post_logout_redirect_uris", "confidential",\n' +
        '  "keys": [{"kid", "kind", "alg", "thumbprint"}] | null, "jwks_uri", "native", "first_party",\n' +
        '  "scopes" (null: all), "roles", "permissions", "owner_id", "disabled", "disabled_by",\n' +
        '  "lifetimes": {"access_token", "refresh_token", "refresh_token_absolute"} (in seconds, null: the server\'s),\n' +
        '  "created_at", "updated_at"},\n' +
        '  "secrets": [{"id", "label", "hint", "created_at", "expires_at", "last_used_at"}]}',
    )
    .action(show);
}

const show = withSession(async (session, _options: object, id: string) => {
  const client = await findClient(session, id);
  const secrets = await session.administration.clients.secrets(id);
  return {
    json: { client: clientJson(client), secrets: secrets.map(secretJson) },
    text: [clientText(client), ...(client.confidential ? [secretsText(secrets)] : [])].join('\n\n'),
  };
});
