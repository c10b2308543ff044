import { randomBytes, randomUUID } from 'node:crypto';

import { now } from '../contracts/clock.ts';
import { parseDuration } from '../contracts/duration.ts';
import type {
  AuditEvent,
  ClientRegistry,
  ClientSecret,
  ClientStore,
  NewSecret,
  StoredClient,
} from '../contracts/index.ts';
import { ClientInvalidError, ClientNotFoundError, fieldError } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';

// Each is compared with what a client presents.
const MOST_SECRETS = 20;

/** What a registry does with the secrets of its clients. */
export type SecretRegistry = Pick<ClientRegistry, 'secrets' | 'addSecret' | 'deleteSecret' | 'rotateSecret'>;

/** What a registry tells the rest of the server. */
export interface RegistryChanges {
  readonly record: (event: AuditEvent) => void;
  /** Told the id of each client that changed, after the change. */
  readonly onChange: (id: string) => void;
}

export function createSecretRegistry(
  store: ClientStore,
  { record, onChange }: RegistryChanges,
): SecretRegistry {
  async function add(id: string, { shown, stored }: MadeSecret): Promise<NewSecret> {
    const { client } = await storedClient(store, id);
    if (!client.confidential) throw invalid('confidential', 'public_client');
    if (!(await store.addSecret(id, stored))) throw new ClientNotFoundError(id);
    onChange(id);
    record(secretEvent('secret_added', id, stored));
    return shown;
  }

  async function deleteOne(id: string, secret: ClientSecret): Promise<boolean> {
    const deleted = await store.deleteSecret(id, secret.id);
    onChange(id);
    if (deleted) record(secretEvent('secret_deleted', id, secret));
    return deleted;
  }

  /** Expired secrets stay for as long as there is room, so that people see why something has stopped. */
  async function makeRoom(id: string): Promise<void> {
    const { secrets } = await storedClient(store, id);
    if (secrets.length < MOST_SECRETS) return;
    const expired = secrets.filter(({ expiresAt = Infinity }) => expiresAt <= now());
    if (expired.length === 0) {
      throw invalid('label', 'too_many_secrets', { most: MOST_SECRETS });
    }
    for (const secret of expired) await deleteOne(id, secret);
  }

  return {
    secrets: async (id) => (await storedClient(store, id)).secrets,
    async addSecret(id, options) {
      const made = makeSecret(options);
      await makeRoom(id);
      return add(id, made);
    },
    async deleteSecret(id, secretId) {
      const secret = (await store.find(id))?.secrets.find((one) => one.id === secretId);
      return secret ? deleteOne(id, secret) : false;
    },
    async rotateSecret(id, { label, overlap: given = 0 } = {}) {
      const overlap = parseDuration(given);
      if (overlap === undefined) throw invalid('overlap', 'not_duration');
      const made = makeSecret({ label });
      if (overlap > 0) await makeRoom(id);
      const { secrets } = await storedClient(store, id);
      const added = await add(id, made);
      for (const secret of secrets) {
        if (overlap === 0) await deleteOne(id, secret);
        else await store.expireSecret(id, secret.id, now() + overlap);
      }
      onChange(id);
      return added;
    },
  };
}

/** What is recorded of a secret: never its value or hash. */
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

// The prefix lets secret scanners recognise it. Base64url has no character that HTTP Basic would have to encode.
const SECRET_PREFIX = 'gatehouse_secret_';

// A SHA-256, an identifier or 256 random bits in base64url.
const GENERATED = /^gatehouse_secret_[\w-]{43}$/;

const LONGEST_LABEL = 100;

// Expiries in milliseconds, a common slip, are tens of thousands of years away.
const CENTURY = 100 * 31_536_000;

/** A secret as it is kept, and as it is given out once. */
export interface MadeSecret {
  readonly stored: ClientSecret;
  readonly shown: NewSecret;
}

/**
 * Makes a secret.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
export function makeSecret({
  label = '',
  expiresAt,
}: { readonly label?: string | undefined; readonly expiresAt?: number | undefined } = {}): MadeSecret {
  const at = now();
  const mistakes = [...labelMistakes(label), ...expiryMistakes(expiresAt, at)];
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
  const value = SECRET_PREFIX + randomBytes(32).toString('base64url');
  const stored: ClientSecret = {
    id: randomUUID(),
    hash: hashCredential(value),
    label: label.trim(),
    hint: value.slice(-4),
    createdAt: at,
    expiresAt,
    lastUsedAt: undefined,
  };
  return { stored, shown: { ...stored, value } };
}

/** Whether a value is of the form of those made here, which nobody can guess. */
export function isGenerated(value: string): boolean {
  return GENERATED.test(value);
}

function labelMistakes(label: unknown): FieldError[] {
  if (typeof label === 'string' && label.length <= LONGEST_LABEL && !/[\p{Cc}\p{Cf}]/u.test(label)) return [];
  return [fieldError('label', 'label_form', { most: LONGEST_LABEL })];
}

function expiryMistakes(expiresAt: unknown, at: number): FieldError[] {
  if (expiresAt === undefined) return [];
  if (!Number.isInteger(expiresAt) || (expiresAt as number) > at + CENTURY) {
    return [fieldError('expiresAt', 'time_form')];
  }
  return (expiresAt as number) > at ? [] : [fieldError('expiresAt', 'time_past')];
}

/**
 * Finds a client that has to be there.
 *
 * @throws ClientNotFoundError
 */
export async function storedClient(store: ClientStore, id: string): Promise<StoredClient> {
  const found = await store.find(id);
  if (!found) throw new ClientNotFoundError(id);
  return found;
}
