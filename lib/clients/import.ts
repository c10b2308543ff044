import { randomUUID } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { Client, ClientFields, ClientSecret, ClientStore } from '../contracts/index.ts';
import { ClientInvalidError, fieldError } from '../errors.ts';
import { isBcryptHash } from './directory.ts';
import { checkClientFields } from './fields.ts';
import type { KnownNames } from './fields.ts';
import { hashCredential } from '../keys/hash.ts';

/** A client of another server, to import with its id and its secret. */
export interface ImportedClient<P extends string = string, R extends string = string> extends ClientFields<
  P,
  R
> {
  /**
   * Its `client_id` at the other server: a UUID, a number as text, or any other printable ASCII without spaces, at most 255
   * characters.
   */
  readonly id: string;
  /** @default false */
  readonly disabled?: boolean;
  /** In seconds since 1970. @default the time of the import */
  readonly createdAt?: number;
  /**
   * Its secret, or the bcrypt hash of it, which is replaced by a SHA-256 hash when the secret is first used. Left out: a
   * confidential client without keys gets no tokens until a secret is added.
   */
  readonly secret?: { readonly value: string } | { readonly bcrypt: string } | undefined;
}

/** The outcome of an import. `present`: a client with this id exists and was not changed. */
export type ImportOutcome = 'imported' | 'present';

/** @param onImported - called with each client after its import */
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
      // A concurrent import may have inserted it.
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
    client: {
      ...checked,
      id,
      registration: 'manual',
      disabled,
      disabledBy: undefined,
      createdAt,
      updatedAt: now(),
    },
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
    'bcrypt' in secret ? [secret.bcrypt, ''] : [hashCredential(secret.value), hintFrom(secret.value)];
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

/** The last four characters of a value, unless it is so short that they would make it guessable. */
function hintFrom(value: string): string {
  return value.length >= 20 ? value.slice(-4) : '';
}
