import { createHmac } from 'node:crypto';

import { hmacKeysFrom } from '../../keys/secrets.ts';
import type { Secrets } from '../../keys/secrets.ts';

// The alphabet and the length that RFC 8628 section 6.1 proposes: 34.5 bits, without vowels, so that no words arise.
const USER_CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/;

/**
 * The user code in a text that a user has typed, in any case and with any separators (RFC 8628 section 6.1), such as
 * `WDJBMJHT`; `undefined` for a text that cannot be one.
 */
export function userCodeOf(text: string): string | undefined {
  // People type it from a screen: eight letters, a hyphen and some blanks.
  if (text.length > 100) return undefined;
  const code = text
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^A-Z\d]/g, '');
  return USER_CODE.test(code) ? code : undefined;
}

/** A user code as the device shows it: `WDJB-MJHT`. */
export function displayedUserCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** Makes the ids under which a user code may be stored. The first is the id for a new code. */
export type UserCodeIds = (code: string) => readonly [string, ...string[]];

export function createUserCodeIds(secrets: Secrets): UserCodeIds {
  const keys = hmacKeysFrom(secrets, 'gatehouse user code');
  return (code) =>
    keys().map((key) => createHmac('sha256', key).update(code).digest('base64url')) as [string, ...string[]];
}
