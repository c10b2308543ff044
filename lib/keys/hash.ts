// Not by its name: a Node without `hash` would refuse to link this file before lib/contracts/runtime.js could say that it is too old.
import crypto, { timingSafeEqual } from 'node:crypto';

/** The name under which a credential is kept: its SHA-256, base64url. Enough for values with 256 bits of randomness. */
export function hashCredential(value: string): string {
  return crypto.hash('sha256', value, 'base64url');
}

/** Compares a presented value with a kept hash in constant time. */
export function matchesHash(value: string, kept: string): boolean {
  const presented = crypto.hash('sha256', value, 'buffer');
  const expected = Buffer.from(kept, 'base64url');
  return expected.length === presented.length && timingSafeEqual(presented, expected);
}
