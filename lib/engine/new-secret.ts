import { randomBytes, randomUUID } from 'node:crypto';

import { now } from '../clock.ts';
import type { ClientSecret, NewSecret } from '../contracts.ts';
import { ClientInvalidError, fieldError } from '../errors.ts';
import type { FieldError } from '../errors.ts';
import { hashCredential } from './hash.ts';

// The prefix lets secret scanners recognise it. Base64url has no character that HTTP Basic would have to encode.
const SECRET_PREFIX = 'gatehouse_secret_';

// A SHA-256, an identifier or 256 random bits in base64url.
const GENERATED = /^gatehouse_secret_[\w-]{43}$/;

const LONGEST_LABEL = 100;

// Expiries in milliseconds, a common slip, are tens of thousands of years away.
const CENTURY = 100 * 31_536_000;

/**
 * Makes a secret.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
export function newSecret({
  label = '',
  expiresAt,
}: { readonly label?: string | undefined; readonly expiresAt?: number | undefined } = {}): NewSecret {
  const at = now();
  const mistakes = [...labelMistakes(label), ...expiryMistakes(expiresAt, at)];
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
  const value = SECRET_PREFIX + randomBytes(32).toString('base64url');
  const secret: ClientSecret = {
    id: randomUUID(),
    hash: hashCredential(value),
    label: label.trim(),
    hint: value.slice(-4),
    createdAt: at,
    expiresAt,
    lastUsedAt: undefined,
  };
  return { secret, value };
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
