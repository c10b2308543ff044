import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { toSeconds } from '../../contracts/duration.ts';
import type { Seconds } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import { optional } from '../../options/declare.ts';
import type { Check, Given, Values } from '../../options/declare.ts';
import type { LaravelPassportSource } from './types.ts';

// Each key that does not fit costs an attempt to decrypt a refresh token, which takes as long as a password hash.
const MOST_APP_KEYS = 3;

const publicKeys: Check<string | readonly string[], readonly KeyObject[]> = (place, given: unknown) => {
  const keys = [given].flat();
  if (keys.length === 0 || !keys.every((key) => typeof key === 'string')) throw wrongPublicKey(place);
  return Object.freeze(keys.map((key) => readPublicKey(place, key)));
};

function readPublicKey(place: string, pem: string): KeyObject {
  if (pem.includes('PRIVATE KEY'))
    throw new ConfigError(place, 'this is the private key; give the public one, oauth-public.key');
  let key: KeyObject;
  try {
    // In an environment variable, Passport reads the two characters \n as a line break.
    key = createPublicKey(pem.replaceAll(String.raw`\n`, '\n'));
  } catch {
    throw wrongPublicKey(place);
  }
  if (key.asymmetricKeyType === 'rsa' && key.asymmetricKeyDetails!.modulusLength! >= 2048) return key;
  throw wrongPublicKey(place);
}

function wrongPublicKey(place: string): ConfigError {
  return new ConfigError(
    place,
    'give the text of storage/oauth-public.key or PASSPORT_PUBLIC_KEY, an RSA key of at least 2048 bits, or a list of such keys',
  );
}

const appKeys: Check<string | readonly string[], readonly Buffer[]> = (place, given: unknown) => {
  const keys = [given].flat();
  const bytes = keys.map((key) => (typeof key === 'string' ? appKeyBytes(key) : undefined));
  if (bytes.length > 0 && bytes.length <= MOST_APP_KEYS && bytes.every((key) => key !== undefined))
    return Object.freeze(bytes);
  throw new ConfigError(
    place,
    `give APP_KEY as it is in .env, with base64: in front, or a list of at most ${MOST_APP_KEYS}, the newest first`,
  );
};

/** The bytes of a key for AES-128 or AES-256. They are not text, because most keys are not UTF-8. */
function appKeyBytes(key: string): Buffer | undefined {
  const bytes = key.startsWith('base64:') ? Buffer.from(key.slice(7), 'base64') : Buffer.from(key);
  return bytes.length === 16 || bytes.length === 32 ? bytes : undefined;
}

const date: Check<string | Date, Seconds> = (place, given: unknown) => {
  const isText = typeof given === 'string' && /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(given);
  const milliseconds = isText || given instanceof Date ? new Date(given).getTime() : NaN;
  if (!Number.isNaN(milliseconds)) return Math.floor(toSeconds(milliseconds));
  throw new ConfigError(place, "give a date such as '2027-06-30', which begins in UTC, or a Date");
};

const laravelPassportSource: Check<LaravelPassportSource> = (place, given) => {
  if (typeof given?.findAccessToken === 'function') return given;
  throw new ConfigError(place, 'pass laravelPassportSource(knex)');
};

export const PASSPORT = {
  /**
   * The public key of Passport's access tokens, `storage/oauth-public.key` or `PASSPORT_PUBLIC_KEY`, or a list of several. Tokens that
   * are signed with another key are not accepted as Passport's.
   */
  publicKey: publicKeys,
  /**
   * `APP_KEY` as it is in Laravel's `.env`, or a list of at most three, the newest first: Passport's refresh tokens are encrypted with
   * it.
   * @default refresh tokens of Passport are refused
   */
  appKey: optional(appKeys),
  /**
   * The database of the Laravel app: `laravelPassportSource(knex)`. Where its rows may be changed, the rows of a token are marked when it is
   * revoked.
   */
  source: laravelPassportSource,
  /** The date from which on no token of Passport is accepted, such as `'2027-06-30'`. The day begins in UTC. */
  until: date,
};

/** The options of `laravelPassport()`. */
export interface PassportOptions extends Given<typeof PASSPORT> {}

/** The options, complete. */
export type PassportSettings = Values<typeof PASSPORT>;
