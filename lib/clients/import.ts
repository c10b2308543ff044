import { randomUUID } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { Client, ClientFields, ClientSecret, ClientStore } from '../contracts/index.ts';
import { ClientInvalidError, fieldError } from '../errors.ts';
import { isBcryptHash } from './directory.ts';
import { checkClientFields } from './fields.ts';
import type { KnownNames } from './fields.ts';
import { hashCredential } from '../keys/hash.ts';

/** A client that another server registered, to be taken over as it is. */
export interface ImportedClient<P extends string = string, R extends string = string> extends ClientFields<
  P,
  R
> {
  /** The `client_id` that its developers have: a UUID, a number as text, or any other printable ASCII. */
  readonly id: string;
  /** @default false */
  readonly disabled?: boolean;
  /** In seconds since 1970. @default the time of the import */
  readonly createdAt?: number;
  /**
   * Its secret, or the bcrypt hash of it, which is replaced by a SHA-256 when the secret is first used. Without one, a
   * confidential client gets no tokens until it is given a secret.
   */
  readonly secret?: { readonly value: string } | { readonly bcrypt: string } | undefined;
}

/** How an import ended. `present`: a client with this id is there already, and was left as it is. */
export type ImportOutcome = 'imported' | 'present';

/**
 * @param onImported - told each client that was imported, afterwards
 */
export function createClientImport(
  store: ClientStore,
  names: KnownNames,
  onImported: (client: Client) => void,
): (client: ImportedClient, options?: { dryRun?: boolean }) => Promise<ImportOutcome> {
  return async function importClient(imported, { dryRun = false } = {}) {
    const { client, secrets } = toStored(imported, names);
    if (await store.find(client.id)) return 'present';
    if (dryRun) return 'imported';
    try {
      await store.insert(client, secrets);
    } catch (error) {
      // Somebody else imported it in the meantime.
      if (await store.find(client.id)) return 'present';
      throw error;
    }
    onImported(client);
    return 'imported';
  };
}

function toStored(
  { id, createdAt = now(), disabled = false, secret, ...fields }: ImportedClient,
  names: KnownNames,
): { client: Client; secrets: readonly ClientSecret[] } {
  if (typeof id !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(id)) {
    throw new ClientInvalidError([fieldError('id', 'client_id_form')]);
  }
  const checked = checkClientFields(fields, names);
  if (secret && !checked.confidential) {
    throw new ClientInvalidError([fieldError('secret', 'public_client')]);
  }
  return {
    client: { ...checked, id, disabled, disabledBy: undefined, createdAt, updatedAt: now() },
    secrets: secret ? [toSecret(secret)] : [],
  };
}

function toSecret(secret: NonNullable<ImportedClient['secret']>): ClientSecret {
  if ('bcrypt' in secret && !isBcryptHash(secret.bcrypt)) {
    throw new ClientInvalidError([fieldError('secret', 'bcrypt_form')]);
  }
  if ('value' in secret && secret.value === '') {
    throw new ClientInvalidError([fieldError('secret', 'secret_empty')]);
  }
  const [hash, hint] =
    'bcrypt' in secret ? [secret.bcrypt, ''] : [hashCredential(secret.value), hintOf(secret.value)];
  return {
    id: randomUUID(),
    hash,
    label: 'imported',
    hint,
    createdAt: now(),
    expiresAt: undefined,
    lastUsedAt: undefined,
  };
}

/** The last four characters, of a value that has enough others to be kept. */
function hintOf(value: string): string {
  return value.length >= 20 ? value.slice(-4) : '';
}
