// `hash` is not imported by name: an older Node has no such export and would fail to link this file, before
// lib/contracts/runtime.js could report that Node is too old.
import crypto, { timingSafeEqual } from 'node:crypto';

/** The hash under which a credential is stored: SHA-256, base64url. Sufficient for values with 256 bits of randomness. */
export function hashCredential(value: string): string {
  return crypto.hash('sha256', value, 'base64url');
}

/**
 * Compares a presented credential with a stored hash in constant time. Both hashes are compared as text: SHA-256 has one spelling
 * in base64url.
 */
export function matchesHash(value: string, stored: string): boolean {
  const presented = Buffer.from(hashCredential(value), 'latin1');
  const expected = Buffer.from(stored, 'latin1');
  return expected.length === presented.length && timingSafeEqual(presented, expected);
}
