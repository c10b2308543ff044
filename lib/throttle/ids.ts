import { createHmac } from 'node:crypto';

/** Names what is counted, by its kind and what tells it from others of the kind. */
export type AttemptId = (kind: string, ...parts: readonly string[]) => string;

/**
 * Makes the ids under which attempts are counted. They are keyed hashes: login names and addresses are few enough to be
 * found by trying all of them, and whoever reads the database must not learn who signs in from where.
 *
 * @param secret - the same on every node; another one starts all counts anew
 */
export function createAttemptId(secret: string): AttemptId {
  // A key of its own, since the secret is used elsewhere.
  const key = createHmac('sha256', secret).update('gatehouse attempts').digest();
  return (...given) => createHmac('sha256', key).update(JSON.stringify(given)).digest('base64url');
}
