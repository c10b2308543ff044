/** The options for the public keys of a client, and how they are shown. */
import { readFile, stat } from 'node:fs/promises';

import { Option } from 'commander';
import type { Client } from 'koa-gatehouse';
import type { ClientKeys } from 'koa-gatehouse/types';

import { keyThumbprint } from '../contracts/key-thumbprint.ts';
import { UsageError } from './failure.ts';

/** The values of {@link keyOptions}. */
export interface KeyOptions {
  readonly jwks?: string;
  readonly jwksUri?: string;
}

export function keyOptions(): readonly Option[] {
  return [
    new Option(
      '--jwks <file>',
      'its public keys, a JSON Web Key Set: it authenticates with private_key_jwt',
    ).conflicts('jwksUri'),
    new Option('--jwks-uri <url>', 'the https URL of its public keys'),
  ];
}

// In bytes, so that a device or a huge file is not read by mistake.
const LARGEST_FILE = 1024 * 1024;

/** The keys that the options name; `undefined` when they name none. The registry checks them. */
export async function readKeys({ jwks, jwksUri }: KeyOptions): Promise<ClientKeys | undefined> {
  if (jwksUri !== undefined) return { jwksUri };
  if (jwks === undefined) return undefined;
  const about = await stat(jwks).catch(() => undefined);
  if (!about?.isFile()) throw new UsageError(`--jwks: there is no file ${jwks}.`);
  if (about.size > LARGEST_FILE) throw new UsageError(`--jwks: ${jwks} is larger than a JSON Web Key Set.`);
  const text = await readFile(jwks, 'utf8');
  try {
    return { jwks: JSON.parse(text) as Extract<ClientKeys, { jwks: unknown }>['jwks'] };
  } catch {
    // The message of the parser is left out, because it repeats the text, which may be a private key.
    throw new UsageError(`--jwks: ${jwks} is not JSON. Give a JSON Web Key Set (RFC 7517), {"keys": [...]}.`);
  }
}

/** The keys of a client as lines of text. */
export function keysText({ keys }: Pick<Client, 'keys'>): readonly string[] {
  if (!keys) return [];
  if ('jwksUri' in keys) return [keys.jwksUri];
  return keys.jwks.keys.map(describe).map(({ alg, kid, kind, thumbprint }) => {
    return `${kind}${alg === null ? '' : `, ${alg}`}, kid ${kid ?? '–'}, SHA-256 ${thumbprint}`;
  });
}

/** The keys of a client as members of its JSON. */
export function keysJson({ keys }: Pick<Client, 'keys'>): Record<string, unknown> {
  if (!keys) return { keys: null, jwks_uri: null };
  if ('jwksUri' in keys) return { keys: null, jwks_uri: keys.jwksUri };
  return { keys: keys.jwks.keys.map(describe), jwks_uri: null };
}

function describe(key: Readonly<Record<string, unknown>>) {
  const text = (name: string): string | null => (typeof key[name] === 'string' ? key[name] : null);
  return { kid: text('kid'), kind: text('crv') ?? 'RSA', alg: text('alg'), thumbprint: keyThumbprint(key) };
}

/** Notes for the time after a client was given keys. */
export function keyNotes(
  { keys }: Pick<Client, 'keys'>,
  options: KeyOptions,
  secrets: number,
): readonly string[] {
  if (!keys || (options.jwks === undefined && options.jwksUri === undefined)) return [];
  const both =
    'Its secrets are accepted too: delete them with `gatehouse client secrets delete` when the app uses its keys.';
  return [
    'Servers accept the keys where their option clients.privateKeyJwt is true.',
    ...(secrets > 0 ? [both] : []),
  ];
}
