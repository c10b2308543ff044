import { createHmac, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/**
 * The secrets with which the server signs cookies, and from which it derives other values that have to be the same on every node. The
 * first secret signs and encrypts, all verify and decrypt. When the secrets have changed, the function returns another list.
 */
export type Secrets = () => readonly string[];

/** Derives a value from each entry of a list, once for each list. */
export function derivedFromEach<From, To>(
  source: () => readonly From[],
  derive: (one: From) => To,
): () => readonly To[] {
  let from: readonly From[] | undefined;
  let derived: readonly To[] = [];
  return () => {
    const current = source();
    if (current !== from) derived = current.map(derive);
    from = current;
    return derived;
  };
}

/**
 * Derives keys for HMAC, because the secrets are used for other purposes too. They are KeyObjects: Node first fails to read a Buffer as a
 * key, and the HMAC would take six times as long.
 *
 * @param purpose - such as `gatehouse attempts`
 */
export function hmacKeysFrom(secrets: Secrets, purpose: string): () => readonly KeyObject[] {
  return derivedFromEach(secrets, (secret) =>
    createSecretKey(createHmac('sha256', secret).update(purpose).digest()),
  );
}
