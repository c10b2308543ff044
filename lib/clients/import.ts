import { randomUUID } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import type { Client, ClientFields, StoredSecret, FieldError, Seconds, Storage } from '../contracts/index.ts';
import { fieldError } from '../contracts/field-errors.ts';
import { ClientInvalidError } from '../errors.ts';
import { isBcryptHash } from './directory.ts';
import { checkClientFields } from './fields.ts';
import type { KnownNames } from './fields.ts';
import { newClient } from './registry.ts';
import { hashCredential } from '../keys/hash.ts';
import { checkNames } from '../options/declare.ts';

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
  /** @default the time of the import */
  readonly createdAt?: Seconds;
  /**
   * The client's secret, or its bcrypt hash, which is replaced by a SHA-256 hash when the secret is first used. Without it, a
   * confidential client without keys gets no tokens until a secret is added.
   */
  readonly secret?: { readonly value: string } | { readonly bcrypt: string } | undefined;
}

/** The outcome of an import. `present` means that a client with this id exists and was not changed. */
export type ImportOutcome = 'imported' | 'present';

const OPTIONS = { dryRun: true };

/** @param onImported - called with each client after its import */
export function createClientImport(
  storage: Pick<Storage, 'clients' | 'confirm'>,
  names: KnownNames,
  onImported: (client: Client) => void,
): (client: ImportedClient, options?: { dryRun?: boolean }) => Promise<ImportOutcome> {
  return async function importClient(imported, options = {}) {
    checkNames(options, OPTIONS, 'importClient()');
    const { dryRun = false } = options;
    const { client, secrets } = toStored(imported, names);
    if (await isPresent(client.id)) return 'present';
    if (dryRun) return 'imported';
    try {
      await storage.clients.insert(client, secrets);
    } catch (error) {
      // A concurrent import may have inserted the client.
      if (await isPresent(client.id)) return 'present';
      throw error;
    }
    onImported(client);
    return 'imported';
  };

  async function isPresent(id: string): Promise<boolean> {
    if (!(await storage.clients.find(id))) return false;
    // An earlier call may have inserted the client and thrown.
    await storage.confirm();
    return true;
  }
}

/** @throws ClientInvalidError with one entry per mistake */
function toStored(
  { id, createdAt = now(), disabled = false, secret, ...fields }: ImportedClient,
  names: KnownNames,
): { client: Client; secrets: readonly StoredSecret[] } {
  const { checked, mistakes = [] } = checkClientFields(fields, names);
  const isId = typeof id === 'string' && /^[\x21-\x7e]{1,255}$/.test(id);
  const all = [
    ...(isId ? [] : [fieldError('id', 'client_id_form')]),
    ...mistakes,
    ...(secret ? secretMistakes(secret, checked) : []),
  ];
  if (all.length > 0 || !checked) throw new ClientInvalidError(all);
  return {
    client: { ...newClient(checked, 'manual', id), disabled, createdAt },
    secrets: secret ? [toSecret(secret)] : [],
  };
}

type ImportedSecret = NonNullable<ImportedClient['secret']>;

function secretMistakes(
  secret: ImportedSecret,
  client: Pick<Client, 'confidential'> | undefined,
): readonly FieldError[] {
  const unknown = Object.keys(secret).find((name) => name !== 'value' && name !== 'bcrypt');
  const isHash = !('bcrypt' in secret) || isBcryptHash(secret.bcrypt);
  const isEmpty = 'value' in secret && secret.value === '';
  return [
    ...(client?.confidential === false ? [fieldError('secret', 'public_client')] : []),
    ...(isHash ? [] : [fieldError('secret', 'bcrypt_form')]),
    ...(isEmpty ? [fieldError('secret', 'secret_empty')] : []),
    ...(unknown === undefined ? [] : [fieldError(`secret.${unknown}`, 'unknown_field')]),
  ];
}

function toSecret(secret: ImportedSecret): StoredSecret {
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
