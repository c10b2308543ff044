import { readFile, stat } from 'node:fs/promises';

import type { Command } from 'commander';

import { UsageError } from '../failure.ts';
import { clientJson } from '../report.ts';
import { withSession } from '../session.ts';

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

// In bytes. Reading a device or a huge file by mistake ends here.
const LARGEST_FILE = 1024 * 1024;

async function readPicture(file: string): Promise<Uint8Array> {
  const about = await stat(file).catch(() => undefined);
  if (!about?.isFile()) throw new UsageError(`There is no file ${file}.`);
  if (about.size > LARGEST_FILE) throw new UsageError(`${file} is larger than a logo.`);
  return readFile(file);
}
