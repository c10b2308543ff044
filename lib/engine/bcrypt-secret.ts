import { compare } from 'bcryptjs';

import type { ClientSecret } from '../contracts.ts';

// As PHP and others write it, up to a cost of 15: the next one takes seconds.
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/;

/** Whether this is a bcrypt hash that values can be checked against. A secret has one until it is first used. */
export function isBcryptHash(hash: string): boolean {
  return BCRYPT.test(hash);
}

// bcrypt looks at no more of a value.
const LONGEST = 72;

/**
 * Whether bcrypt can tell a value from every other one: it leaves out what is behind the 72nd byte, and repeats a value with a
 * NUL at its end, so that `a` and `a\0a` are the same to it.
 */
export function isWholeToBcrypt(value: string): boolean {
  return Buffer.byteLength(value) <= LONGEST && !value.includes('\0');
}

/**
 * Finds which of some secrets with bcrypt hashes a value is. Slow on purpose: each takes a quarter of a second at the
 * usual cost of 12, and the thread for up to 100 ms at a time.
 */
export async function findBcryptSecret(
  presented: string,
  secrets: readonly ClientSecret[],
): Promise<ClientSecret | undefined> {
  for (const secret of secrets) if (await compare(presented, secret.hash)) return secret;
  return undefined;
}
