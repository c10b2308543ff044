import { readFile, stat } from 'node:fs/promises';

import type { Command } from 'commander';

import { confirm } from '../terminal.ts';
import { clientJson } from '../report.ts';
import { findClient, withSession } from '../session.ts';
import { UsageError } from '../failure.ts';

/** `gatehouse client disable | enable | delete` */
export function addClientChanges(client: Command): void {
  client
    .command('disable <client-id>')
    .summary('disable a client and its tokens')
    .description('Disable a client and its tokens until it is enabled again.')
    .addHelpText('after', '\nJSON: {"client": {...}}, as in `client show`')
    .action(changing('disable'));
  client
    .command('enable <client-id>')
    .summary('enable a disabled client')
    .description('Enable a disabled client.')
    .addHelpText('after', '\nJSON: {"client": {...}}, as in `client show`')
    .action(changing('enable'));
  client
    .command('delete <client-id>')
    .summary('delete a client')
    .description('Delete a client with its secrets, consents and tokens. This cannot be undone.')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nJSON: {"deleted": "<client-id>"}')
    .action(deleteClient);
}

function changing(change: 'disable' | 'enable'): ReturnType<typeof withSession> {
  return withSession(async ({ administration }, _options: object, id: string) => {
    const client = await administration.clients[change](id);
    return {
      json: { client: clientJson(client) },
      text: `"${client.name}" (${id}) is ${change}d. Running servers apply it within seconds.`,
    };
  });
}

const deleteClient = withSession(async (session, options: { yes?: boolean }, id: string) => {
  const { clients } = session.administration;
  // An interrupted deletion may have left grants of a client that no longer exists; calling `delete` again deletes them.
  if (!(await clients.find(id))) await clients.delete(id);
  const { name } = await findClient(session, id);
  await confirm(`Delete "${name}" (${id}) with its secrets, consents and tokens?`, options);
  await clients.delete(id);
  return { json: { deleted: id }, text: `Deleted "${name}" (${id}).` };
});

/** `gatehouse client logo` */
export function addClientLogo(client: Command): void {
  client
    .command('logo <client-id> [file]')
    .summary('set or remove its logo')
    .description(
      'Set the logo of a client: a PNG or JPEG file of at most 64 KiB, and 1024 pixels wide and high. The client is not verified then; `client update --verified` shows the logo to users.',
    )
    .option('--remove', 'remove the logo')
    .addHelpText('after', '\nJSON: {"client": {...}, "notes": []}, a client as in `client show`')
    .action(setLogo);
}

const setLogo = withSession(
  async ({ administration }, { remove }: { remove?: true }, id: string, file: string | undefined) => {
    if ((file === undefined) === (remove === undefined)) throw new UsageError('Give a file, or --remove.');
    const picture = file === undefined ? undefined : await readPicture(file);
    const client = await administration.clients.setLogo(id, picture);
    const isShown = !picture || client.verified || client.firstParty;
    return {
      json: { client: clientJson(client) },
      text: `"${client.name}" (${id}) has ${picture ? 'a new' : 'no'} logo.`,
      notes: isShown ? [] : [`Users see it after \`gatehouse client update ${id} --verified\`.`],
    };
  },
);

// In bytes, so that a device or a huge file is not read by mistake.
const LARGEST_FILE = 1024 * 1024;

async function readPicture(file: string): Promise<Uint8Array> {
  const about = await stat(file).catch(() => undefined);
  if (!about?.isFile()) throw new UsageError(`There is no file ${file}.`);
  if (about.size > LARGEST_FILE) throw new UsageError(`${file} is larger than a logo.`);
  return readFile(file);
}
