import { GatehouseError, MigrationsPendingError, StorageError } from '../../lib/errors.ts';
import { isAcquireTimeout, NoAnswerError } from './bounded-waits.ts';
import { codeOf } from './dialect.ts';
import type { Dialect } from './dialect.ts';

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
  return new StorageError(`The database could not be used (${codeOf(error) || nameOf(error)}).`, {
    cause: error,
  });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
