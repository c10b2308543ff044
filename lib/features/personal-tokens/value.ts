import { randomBytes } from 'node:crypto';
// Not imported by name, as in lib/keys/hash.ts.
import zlib from 'node:zlib';

/** Each value begins with this, so that secret scanners and people recognize it. */
const PERSONAL_TOKEN_PREFIX = 'gatehouse_pat_';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

// 62 ** 43 is more than 2 ** 256, and 62 ** 6 more than 2 ** 32.
const RANDOM_DIGITS = 43;
const CHECKSUM_DIGITS = 6;
const LENGTH = PERSONAL_TOKEN_PREFIX.length + RANDOM_DIGITS + CHECKSUM_DIGITS;

/**
 * Makes the value of a personal access token: the prefix, 256 random bits and the CRC-32 of both, in base 62. By the checksum, a scanner
 * finds out without a request that a text is no such value.
 */
export function makePersonalTokenValue(): string {
  const random = inBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), RANDOM_DIGITS);
  return withChecksum(PERSONAL_TOKEN_PREFIX + random);
}

/** Whether a text can be the value of a personal access token: its checksum is right. */
export function isPersonalToken(text: string): boolean {
  return (
    text.length === LENGTH &&
    text.startsWith(PERSONAL_TOKEN_PREFIX) &&
    withChecksum(text.slice(0, -CHECKSUM_DIGITS)) === text
  );
}

function withChecksum(text: string): string {
  return text + inBase62(BigInt(zlib.crc32(text)), CHECKSUM_DIGITS);
}

function inBase62(number: bigint, length: number): string {
  let digits = '';
  for (let rest = number; digits.length < length; rest /= 62n) digits = DIGITS[Number(rest % 62n)]! + digits;
  return digits;
}
