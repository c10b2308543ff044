import { createHmac, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/**
 * The secrets from which the server signs cookies and derives what else has to be the same on every node: the first one signs and
 * encrypts, all verify and decrypt. Another list when they have changed.
 */
export type Secrets = () => readonly string[];

/** Derives a value from each, once for each list. */
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
 * Derives keys for HMAC, because the secrets are used for other purposes too. With a Buffer, Node first fails to read it as a key:
 * the HMAC would take six times as long.
 *
 * @param purpose - such as `gatehouse attempts`
 */
export function hmacKeysFrom(secrets: Secrets, purpose: string): () => readonly KeyObject[] {
  return derivedFromEach(secrets, (secret) =>
    createSecretKey(createHmac('sha256', secret).update(purpose).digest()),
  );
}
