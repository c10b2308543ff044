import { Option } from 'commander';
import type { Command } from 'commander';
import type { Administration } from 'koa-gatehouse';
import type { SigningKey } from 'koa-gatehouse/types';

import type { Seconds } from '../../contracts/duration.ts';
import { keyJson, timeText } from '../report.ts';
import { duration } from '../arguments.ts';
import { withSession } from '../session.ts';
import { table } from '../table.ts';
import { confirm } from '../terminal.ts';

type Rotation = NonNullable<Parameters<Administration['signingKeys']['rotate']>[0]>;

/** `gatehouse signing-keys list`, `rotate`, `encrypt`, `revoke` */
export function addKeysCommands(program: Command): void {
  const keys = program
    .command('signing-keys')
    .helpCommand(false)
    .summary('list, rotate, encrypt and revoke the keys of the servers')
    .description(
      'List, rotate, encrypt or revoke the keys with which servers sign access tokens, ID tokens and cookies.',
    );
  keys
    .command('list')
    .summary('list the keys, newest first')
    .description(
      'List the keys that sign access tokens, and then those that sign ID tokens, the newest of each first.',
    )
    .addHelpText(
      'after',
      '\nJSON: {"keys": [{"kid", "use": "token" | "id_token", "status": "next" | "active" | "retired", "created_at", "active_at", "retires_at"}]}',
    )
    .action(list);
  keys
    .command('rotate')
    .summary('create a signing key')
    .description(
      'Create a signing key. It is published at once and signs a minute later, when every server and verifier knows it. Tokens of the previous key stay valid.',
    )
    .addOption(
      new Option(
        '--after <duration>',
        'delay before it signs; at least 30 seconds, and more than twice the tokens.revocationLag of the servers',
      )
        .argParser(duration)
        .default(60, '1 minute'),
    )
    .addOption(
      new Option(
        '--access-token-lifetime <duration>',
        "the servers' tokens.lifetimes.accessToken: how long the previous key is kept",
      )
        .argParser(duration)
        .default(31_536_000, '1 year'),
    )
    .addOption(algorithmOption())
    .addHelpText('after', '\nJSON: {"key": {...}, "notes": []}, a key as in `signing-keys list`')
    .action(rotate);
  keys
    .command('encrypt')
    .summary('encrypt all keys anew, so that a former key-encryption key can be removed')
    .description(
      'Encrypt all keys anew with the first key of KEY_ENCRYPTION_KEY. Give the same list as the servers: the new one, then the former ones. Servers can run meanwhile.',
    )
    .addHelpText('after', '\nJSON: {"encrypted": 3}')
    .action(encrypt);
  keys
    .command('revoke')
    .summary('end all keys at once, because they have leaked')
    .description(
      'End all keys for tokens and cookies at once, and create new ones. Servers refuse all access tokens and cookies within their tokens.revocationLag: clients refresh their tokens or request new ones, users sign in again.',
    )
    .addOption(algorithmOption())
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nJSON: {"key": {...}, "revoked": ["<key-id>"], "notes": []}, a key as in `signing-keys list`',
    )
    .action(revoke);
}

function algorithmOption(): Option {
  return new Option(
    '--algorithm <name>',
    "the servers' tokens.algorithm (default: that of the newest key, else ES256)",
  ).choices(['ES256', 'RS256', 'EdDSA']);
}

const list = withSession(async ({ administration }) => {
  const keys = await administration.signingKeys.list();
  return {
    json: { keys: keys.map(keyJson) },
    text:
      keys.length === 0 ? 'There are no keys yet. A server creates the first one at start.' : toTable(keys),
  };
});

const rotate = withSession(async ({ administration }, options: Rotation & { after: Seconds }) => {
  const key = await administration.signingKeys.rotate(options);
  const notes = [
    ...(key.status === 'next' ? [`It signs in ${options.after} s, when every server knows it.`] : []),
    encryptionNote(),
  ];
  return { json: { key: keyJson(key) }, text: toTable([key]), notes };
});

function encryptionNote(): string {
  return ['', 'false'].includes(process.env['KEY_ENCRYPTION_KEY'] ?? '')
    ? 'It is stored unencrypted; set KEY_ENCRYPTION_KEY to encrypt it.'
    : 'It is encrypted: every server needs the same secrets.keyEncryptionKey.';
}

const encrypt = withSession(async ({ administration }) => {
  const encrypted = await administration.signingKeys.encrypt();
  return {
    json: { encrypted },
    text: `Encrypted ${encrypted} keys. A server needs no other secrets.keyEncryptionKey than the first any more; \`gatehouse doctor\` checks it.`,
  };
});

const revoke = withSession(
  async (
    { administration },
    { yes = false, ...options }: Pick<Rotation, 'algorithm'> & { yes?: boolean },
  ) => {
    await confirm('End all keys, and with them all access tokens and logins?', { yes });
    const { key, revoked } = await administration.signingKeys.revoke(options);
    return {
      json: { key: keyJson(key), revoked },
      text: `Revoked ${revoked.length} keys. The new signing key:\n${toTable([key])}`,
      notes: ['Running servers apply it within seconds.', encryptionNote()],
    };
  },
);

function toTable(keys: readonly SigningKey[]): string {
  return table(
    ['Key ID', 'Signs', 'Status', 'Signs from (UTC)', 'Verifies until (UTC)'],
    keys.map(({ activeAt, createdAt, id, retiresAt, status, use }) => [
      id,
      use === 'id_token' ? 'ID tokens' : 'access tokens',
      status,
      timeText(Math.max(activeAt, createdAt)),
      timeText(retiresAt),
    ]),
  );
}
