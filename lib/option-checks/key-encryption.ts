/** The key that encrypts the server's own keys: what it has to be, and where it must not be left out. */
import type { Storage } from '../contracts.ts';
import { ConfigError } from '../errors.ts';
import { checkSecrets } from '../option-checks.ts';

const OPTION = 'keyEncryptionKey';

/** The keys, newest first; none when the server's own keys are stored as they are. */
export function checkKeyEncryptionKey(given: unknown): readonly string[] {
  return given === undefined || given === false ? [] : checkSecrets(OPTION, [given].flat());
}

/**
 * Demands a decision before keys are written: in production, a database or a backup of it that somebody reads must not be
 * enough to make tokens.
 *
 * @throws ConfigError when there is neither a key nor a `false`, and the storage outlives the process
 */
export function requireKeyEncryptionKey(given: unknown, { durable }: Pick<Storage, 'durable'>): void {
  if (given !== undefined || !durable || process.env['NODE_ENV'] !== 'production') return;
  throw new ConfigError(
    OPTION,
    "give a random string of at least 32 characters that is not in the database (on the command line KEY_ENCRYPTION_KEY): without it, whoever reads the database or a backup can make any token; false stores the server's keys as they are all the same",
  );
}
