import { Option } from 'commander';
import type { Command } from 'commander';
import type { Administration, SigningKey } from 'koa-gatehouse';

import { keyJson, timeText } from '../report.ts';
import { duration } from '../arguments.ts';
import type { Report } from '../report.ts';
import { withSession } from '../session.ts';
import type { Session } from '../session.ts';
import { table } from '../table.ts';

type Rotation = NonNullable<Parameters<Administration['keys']['rotate']>[0]>;

/** `gatehouse keys list`, `gatehouse keys rotate` */
export function addKeysCommands(program: Command): void {
  const keys = program
    .command('keys')
    .helpCommand(false)
    .summary('list and rotate signing keys')
    .description('List or rotate the keys that sign access tokens.');
  keys
    .command('list')
    .summary('list the keys, newest first')
    .description('List the keys that sign access tokens, newest first.')
    .addHelpText(
      'after',
      '\nJSON: {"keys": [{"kid", "status": "next" | "active" | "retired", "created_at", "active_at", "retires_at"}]}',
    )
    .action(withSession(list));
  keys
    .command('rotate')
    .summary('create a signing key')
    .description(
      'Create a signing key. It is published at once and signs a minute later, when every server and verifier knows it. Tokens of the previous key stay valid.',
    )
    .addOption(
      new Option(
        '--after <duration>',
        'delay before it signs; more than twice the revocationLag of the servers',
      )
        .argParser(duration)
        .default(60, '1 minute'),
    )
    .addOption(
      new Option(
        '--access-token-lifetime <duration>',
        "the servers' lifetimes.accessToken: how long the previous key is kept",
      )
        .argParser(duration)
        .default(31_536_000, '1 year'),
    )
    .addOption(
      new Option(
        '--algorithm <name>',
        "the servers' signingAlgorithm (default: that of the newest key, else ES256)",
      ).choices(['ES256', 'RS256', 'EdDSA']),
    )
    .addHelpText('after', '\nJSON: {"key": {...}, "notes": []}, a key as in `keys list`')
    .action(withSession(rotate));
}

async function list({ administration }: Session): Promise<Report> {
  const keys = await administration.keys.list();
  return {
    json: { keys: keys.map(keyJson) },
    text:
      keys.length === 0 ? 'There are no keys yet. A server creates the first one at start.' : toTable(keys),
  };
}

async function rotate({ administration }: Session, options: Rotation & { after: number }): Promise<Report> {
  const key = await administration.keys.rotate(options);
  const notes = [
    ...(key.status === 'next' ? [`It signs in ${options.after} s, when every server knows it.`] : []),
    isEncrypted()
      ? 'It is encrypted: every server needs the same keyEncryptionKey.'
      : 'It is stored unencrypted; set KEY_ENCRYPTION_KEY to encrypt it.',
  ];
  return { json: { key: keyJson(key) }, text: toTable([key]), notes };
}

function isEncrypted(): boolean {
  return !['', 'false'].includes(process.env['KEY_ENCRYPTION_KEY'] ?? '');
}

function toTable(keys: readonly SigningKey[]): string {
  return table(
    [
      { title: 'Key ID' },
      { title: 'Status' },
      { title: 'Signs from (UTC)' },
      { title: 'Verifies until (UTC)' },
    ],
    keys.map(({ activeAt, createdAt, id, retiresAt, status }) => [
      id,
      status,
      timeText(Math.max(activeAt, createdAt)),
      timeText(retiresAt),
    ]),
  );
}
