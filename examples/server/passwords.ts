/**
 * Hashes and checks passwords with node:crypto.
 *
 * Argon2id with the parameters that OWASP recommends (19 MiB, 2 passes, 1 lane). Node has it since 24.7; older versions use
 * scrypt, which is memory-hard too. The hash names its algorithm (PHC string format).
 */
import * as crypto from 'node:crypto';
import { promisify } from 'node:util';

import { limitConcurrency } from './limit-concurrency.ts';

const ARGON2 = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const ARGON2_PREFIX = `$argon2id$v=19$m=${ARGON2.memory},t=${ARGON2.passes},p=${ARGON2.parallelism}$`;
const SCRYPT = { cost: 2 ** 14, blockSize: 8, parallelization: 5, maxmem: 64 * 2 ** 20 } as const;
const SCRYPT_PREFIX = `$scrypt$ln=14,r=${SCRYPT.blockSize},p=${SCRYPT.parallelization}$`;

// Half of the threads in Node's pool; the other half stays free for files and DNS.
const limited = limitConcurrency({ most: 2, waiting: 200 });

type Derive = (password: string, salt: Buffer) => Promise<Buffer>;

const deriveWithScrypt: Derive = promisify(
  (password: string, salt: Buffer, callback: (error: Error | null, key: Buffer) => void) => {
    crypto.scrypt(password, salt, 32, SCRYPT, callback);
  },
);

// Accessed through the namespace: a named import of a missing function is an error in older Node versions.
const deriveWithArgon2: Derive | undefined = Object.hasOwn(crypto, 'argon2')
  ? promisify((password: string, salt: Buffer, callback: (error: Error | null, key: Buffer) => void) => {
      crypto.argon2('argon2id', { message: password, nonce: salt, ...ARGON2 }, callback);
    })
  : undefined;

/** Hashes a password with a fresh salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(16);
  const [prefix, derive] = deriveWithArgon2
    ? [ARGON2_PREFIX, deriveWithArgon2]
    : [SCRYPT_PREFIX, deriveWithScrypt];
  const key = await limited(async () => derive(password, salt));
  return `${prefix}${salt.toString('base64url')}$${key.toString('base64url')}`;
}

/** Tells whether a password is the one that was hashed. */
export async function verifyPassword(hash: string, password: string): Promise<boolean> {
  const derive = hash.startsWith(ARGON2_PREFIX)
    ? deriveWithArgon2
    : hash.startsWith(SCRYPT_PREFIX)
      ? deriveWithScrypt
      : undefined;
  if (!derive) {
    throw new Error(
      'This Node.js does not support the algorithm of this password hash. Use Node.js 24.7 or newer.',
    );
  }
  const [salt = '', key = ''] = hash.split('$').slice(-2);
  const expected = Buffer.from(key, 'base64url');
  const derived = await limited(async () => derive(password, Buffer.from(salt, 'base64url')));
  return crypto.timingSafeEqual(expected, derived);
}

/** Generates a password with 80 random bits in four groups, without similar characters such as l and 1. */
export function makePassword(): string {
  const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';
  const letters = Array.from(crypto.randomBytes(16), (byte) => alphabet[byte % alphabet.length]);
  return letters.join('').replaceAll(/(.{4})(?=.)/g, '$1-');
}
