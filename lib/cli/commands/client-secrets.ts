import type { NewSecret } from 'koa-gatehouse';
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';

import { toSeconds } from '../../contracts/duration.ts';
import type { Seconds } from '../../contracts/duration.ts';
import { duration } from '../arguments.ts';
import { newSecretText, secretsText } from '../client-text.ts';
import { confirm } from '../terminal.ts';
import { UsageError } from '../failure.ts';
import { secretJson } from '../report.ts';
import type { Report } from '../report.ts';
import { withSession } from '../session.ts';

/** `gatehouse client secrets list | add | delete`, `gatehouse client rotate-secret` */
export function addClientSecrets(client: Command): void {
  const secrets = client
    .command('secrets')
    .helpCommand(false)
    .summary('list, add or delete secrets')
    .description(
      'List, add or delete secrets. To rotate without downtime: add one, deploy it, delete the old one.',
    );
  secrets
    .command('list <client-id>', { isDefault: true })
    .summary('list the secrets, without their values')
    .description('List the secrets of a client, without their values.')
    .addHelpText('after', '\nJSON: {"client_id", "secrets": [{...}]}, a secret as in `client show`')
    .action(list);
  secrets
    .command('add <client-id>')
    .summary('add a secret')
    .description('Add a secret; the others stay valid. It is shown only once.')
    .option('--label <text>', 'a label, such as "production, May"', '')
    .option('--expires-at <time>', 'such as 2027-05-31 or 2027-05-31T12:00Z (default: never)', futureTime)
    .addHelpText('after', '\nJSON: {"client_id", "client_secret": "...", "secret": {...}}')
    .action(add);
  secrets
    .command('delete <client-id> <secret-id>')
    .summary('delete one')
    .description('Delete a secret. It stops working at once.')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nJSON: {"client_id", "deleted": "<secret-id>"}')
    .action(deleteSecret);
  client
    .command('rotate-secret <client-id>')
    .summary('replace all secrets by a new one')
    .description('Replace all secrets of a client by a new one, which is shown only once.')
    .option('--overlap <duration>', 'how long the old ones still work', duration, 0)
    .option('--label <text>', 'a label', '')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nJSON: {"client_id", "client_secret": "...", "secret": {...}}')
    .action(rotate);
}

const list = withSession(async ({ administration }, _options: object, id: string) => {
  const secrets = await administration.clients.secrets(id);
  return {
    json: { client_id: id, secrets: secrets.map(secretJson) },
    text: secretsText(secrets),
  };
});

const add = withSession(
  async ({ administration }, { expiresAt, label }: { expiresAt?: Seconds; label: string }, id: string) => {
    const secret = await administration.clients.addSecret(id, {
      label,
      ...(expiresAt !== undefined && { expiresAt }),
    });
    return newSecret(id, secret);
  },
);

const deleteSecret = withSession(
  async ({ administration }, options: { yes?: boolean }, id: string, secretId: string) => {
    const secret = (await administration.clients.secrets(id)).find((one) => one.id === secretId);
    if (!secret) {
      // An earlier call may have deleted the secret, and then failed because it was not known whether the deletion lasts.
      await administration.clients.deleteSecret(id, secretId);
      throw new UsageError(
        `The client ${id} has no secret ${secretId}; see \`gatehouse client secrets ${id}\`.`,
      );
    }
    await confirm(`Delete the secret "${secret.label}"? Apps that use it get no more tokens.`, options);
    await administration.clients.deleteSecret(id, secretId);
    return { json: { client_id: id, deleted: secretId }, text: `Deleted the secret "${secret.label}".` };
  },
);

const rotate = withSession(
  async (
    { administration },
    { label, overlap, yes }: { label: string; overlap: Seconds; yes?: boolean },
    id: string,
  ) => {
    const count = (await administration.clients.secrets(id)).length;
    if (overlap === 0 && count > 0) {
      await confirm('Replace all secrets? The old ones stop working at once.', { yes: yes ?? false });
    }
    const secret = await administration.clients.rotateSecret(id, { label, overlap });
    return newSecret(id, secret);
  },
);

function newSecret(id: string, secret: NewSecret): Report {
  return {
    json: { client_id: id, client_secret: secret.value, secret: secretJson(secret) },
    text: newSecretText(id, secret.value),
  };
}

function futureTime(text: string): Seconds {
  const milliseconds = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(milliseconds)) {
    throw new InvalidArgumentError('Give a date such as 2027-05-31, or a time such as 2027-05-31T12:00Z.');
  }
  if (milliseconds <= Date.now()) throw new InvalidArgumentError('Give a time in the future.');
  return Math.floor(toSeconds(milliseconds));
}
