import { GatehouseError, MigrationsPendingError, StorageError } from '../../lib/errors.ts';
import { isAcquireTimeout, NoAnswerError, NotReplicatedError } from './bounded-waits.ts';
import { codeOf } from './dialect.ts';
import type { Dialect } from './dialect.ts';
import { wordsOf } from './error-codes.ts';

interface Circumstances {
  readonly dialect: Dialect;
  /** In milliseconds. */
  readonly waited: number;
  /** Empty also when the database cannot be asked any more. */
  readonly findPending: () => Promise<readonly string[]>;
}

/** Turns an error of a driver or the pool into a `GatehouseError` with the original one as its `cause`. */
export async function explainError(
  error: unknown,
  { dialect, waited, findPending }: Circumstances,
): Promise<GatehouseError> {
  if (error instanceof GatehouseError) return error;
  if (isAcquireTimeout(error)) {
    return new StorageError(
      `No database connection became free within ${waited} ms. Make the pool larger, or end the transactions that hold its connections.`,
      { cause: error },
    );
  }
  if (error instanceof NoAnswerError) {
    return new StorageError(
      `The database did not answer within ${waited} ms. It is not known whether anything was changed.`,
      { cause: error },
    );
  }
  if (error instanceof NotReplicatedError) {
    return new StorageError(
      'The database committed a change without its synchronous standby, because the wait for it was cancelled. It is not known whether the change lasts.',
      { cause: error },
    );
  }
  switch (dialect.errorKind(error)) {
    case 'contention':
      return new StorageError(
        `The database stayed locked by another connection for ${waited} ms. Nothing was changed; try again.`,
        { cause: error },
      );
    case 'interrupted':
      return new StorageError(
        `The database did not finish within ${waited} ms and was cancelled. Nothing was changed; try again.`,
        { cause: error },
      );
    case 'read only':
      return new StorageError(
        'The database server only allows reads: it is a standby, or set to be read-only. Nothing was changed. Connect to the primary server.',
        { cause: error },
      );
    case 'too many connections':
      return new StorageError(
        'The database server has reached its connection limit. Make the pools smaller, or raise the limit.',
        { cause: error },
      );
    case 'duplicate key':
      return new StorageError('A row with this id already exists. Nothing was changed.', { cause: error });
    case 'missing table': {
      const pending = await findPending();
      if (pending.length > 0) return new MigrationsPendingError(pending);
    }
  }
  return new StorageError(`The database could not be used ${named(error)}.`, { cause: error });
}

/** The code of an error, or else its message, in parentheses, and what it means. */
export function named(error: unknown): string {
  const code = codeOf(error);
  const words = wordsOf(code);
  return `(${code || nameOf(error)})${words === undefined ? '' : `: ${words}`}`;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
