import { randomBytes, randomUUID } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import { parseDuration } from '../contracts/duration.ts';
import type {
  AuditEvent,
  ClientRegistry,
  ClientSecret,
  ClientStore,
  FieldError,
  NewSecret,
  Seconds,
  StoredClient,
  StoredSecret,
} from '../contracts/index.ts';
import { fieldError } from '../contracts/field-errors.ts';
import { hasControls } from '../contracts/joiners.ts';
import { ClientInvalidError, ClientNotFoundError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';
import { checkNames } from '../options/declare.ts';

type OptionsOf<Method extends 'addSecret' | 'rotateSecret'> = NonNullable<
  Parameters<ClientRegistry[Method]>[1]
>;

const NEW_SECRET: Readonly<Record<keyof OptionsOf<'addSecret'>, true>> = { label: true, expiresAt: true };
const ROTATED_SECRET: Readonly<Record<keyof OptionsOf<'rotateSecret'>, true>> = {
  label: true,
  overlap: true,
};

// Limited, because a presented value is compared with each secret.
const MOST_SECRETS = 20;

/** The methods of a registry for the secrets of its clients. */
export type SecretRegistry = Pick<ClientRegistry, 'secrets' | 'addSecret' | 'deleteSecret' | 'rotateSecret'>;

/** The functions by which a registry reports its changes. */
export interface RegistryChanges {
  readonly record: (event: AuditEvent) => void;
  /** Called with the id of each changed client, after the change. */
  readonly onChange: (id: string) => void;
}

export function createSecretRegistry(
  store: ClientStore,
  { record, onChange }: RegistryChanges,
): SecretRegistry {
  async function add(id: string, { returned, stored }: GeneratedSecret): Promise<NewSecret> {
    const { client } = await requireClient(store, id);
    if (!client.confidential) throw invalid('confidential', 'public_client');
    if (!(await store.addSecret(id, stored))) throw new ClientNotFoundError(id);
    onChange(id);
    record(secretEvent('secret_added', id, stored));
    return returned;
  }

  async function deleteOne(id: string, secret: ClientSecret): Promise<boolean> {
    const deleted = await store.deleteSecret(id, secret.id);
    onChange(id);
    if (deleted) record(secretEvent('secret_deleted', id, secret));
    return deleted;
  }

  /** Deletes expired secrets, but only at the limit: until then they show people why a client fails to authenticate. */
  async function deleteExpiredAtLimit(id: string): Promise<void> {
    const { secrets } = await requireClient(store, id);
    if (secrets.length < MOST_SECRETS) return;
    const expired = secrets.filter(({ expiresAt = Infinity }) => expiresAt <= now());
    if (expired.length === 0) {
      throw invalid('label', 'too_many_secrets', { most: MOST_SECRETS });
    }
    for (const secret of expired) await deleteOne(id, secret);
  }

  return {
    secrets: async (id) =>
      (await requireClient(store, id)).secrets.map(({ hash: _hash, ...secret }) => secret),
    async addSecret(id, options = {}) {
      checkNames(options, NEW_SECRET, 'addSecret()');
      const generated = makeSecret(options);
      await deleteExpiredAtLimit(id);
      return add(id, generated);
    },
    async deleteSecret(id, secretId) {
      const secret = (await store.find(id))?.secrets.find((one) => one.id === secretId);
      // Called also when there is no such secret, because the storage then waits until an earlier deletion is sure to last.
      return secret ? deleteOne(id, secret) : store.deleteSecret(id, secretId);
    },
    async rotateSecret(id, options = {}) {
      checkNames(options, ROTATED_SECRET, 'rotateSecret()');
      const { label, overlap: given = 0 } = options;
      const overlap = parseDuration(given);
      if (overlap === undefined) throw invalid('overlap', 'not_duration');
      const generated = makeSecret({ label });
      if (overlap > 0) await deleteExpiredAtLimit(id);
      const { secrets } = await requireClient(store, id);
      const added = await add(id, generated);
      for (const secret of secrets) {
        if (overlap === 0) await deleteOne(id, secret);
        else await store.expireSecret(id, secret.id, now() + overlap);
      }
      onChange(id);
      return added;
    },
  };
}

/** The audit event of a secret. It holds neither its value nor its hash. */
export function secretEvent(
  type: 'secret_added' | 'secret_deleted',
  clientId: string,
  { hint, id: secretId, label }: ClientSecret,
): AuditEvent {
  return { type, clientId, secretId, label, hint };
}

function invalid(...mistake: Parameters<typeof fieldError>): ClientInvalidError {
  return new ClientInvalidError([fieldError(...mistake)]);
}

// The prefix lets secret scanners recognize a leaked secret. The 256 random bits after it are in base64url, which has no character that
// HTTP Basic would have to encode (RFC 6749 section 2.3.1).
export const SECRET_PREFIX = 'gatehouse_secret_';

const LONGEST_LABEL = 100;

// Rejects an `expiresAt` in milliseconds, a common mistake, which would be tens of thousands of years away.
const CENTURY: Seconds = 100 * 31_536_000;

/** A new secret: the row to store, and the object to return once. */
export interface GeneratedSecret {
  readonly stored: StoredSecret;
  readonly returned: NewSecret;
}

/**
 * Generates a secret.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
export function makeSecret({
  label = '',
  expiresAt,
}: { readonly label?: string | undefined; readonly expiresAt?: Seconds | undefined } = {}): GeneratedSecret {
  const at = now();
  const mistakes = [...labelMistakes(label), ...expiryMistakes(expiresAt, at)];
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
  const value = SECRET_PREFIX + randomBytes(32).toString('base64url');
  const secret: ClientSecret = {
    id: randomUUID(),
    label: label.trim(),
    hint: value.slice(-4),
    createdAt: at,
    expiresAt,
    lastUsedAt: undefined,
  };
  return { stored: { ...secret, hash: hashCredential(value) }, returned: { ...secret, value } };
}

function labelMistakes(label: unknown): FieldError[] {
  if (typeof label === 'string' && label.length <= LONGEST_LABEL && !hasControls(label)) return [];
  return [fieldError('label', 'label_form', { most: LONGEST_LABEL })];
}

function expiryMistakes(expiresAt: unknown, at: Seconds): FieldError[] {
  if (expiresAt === undefined) return [];
  if (!Number.isInteger(expiresAt) || (expiresAt as number) > at + CENTURY) {
    return [fieldError('expiresAt', 'time_form')];
  }
  return (expiresAt as number) > at ? [] : [fieldError('expiresAt', 'time_past')];
}

/**
 * Finds a client with its secrets.
 *
 * @throws ClientNotFoundError when there is no such client
 */
export async function requireClient(store: ClientStore, id: string): Promise<StoredClient> {
  const found = await store.find(id);
  if (!found) throw new ClientNotFoundError(id);
  return found;
}
