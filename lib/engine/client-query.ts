import type { ClientQuery } from '../contracts.ts';
import { ClientInvalidError, fieldError } from '../errors.ts';
import type { FieldError } from '../errors.ts';

const MOST = 200;

/**
 * Checks what a page of clients is asked for.
 *
 * @throws ClientInvalidError with one entry per mistake
 */
export function checkClientQuery(query: ClientQuery): ClientQuery {
  const mistakes: FieldError[] = [];
  const { limit } = query;
  for (const field of ['search', 'ownerId', 'after'] as const) {
    const text: unknown = query[field];
    if (text !== undefined && typeof text !== 'string') mistakes.push(fieldError(field, 'not_string'));
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MOST)) {
    mistakes.push(fieldError('limit', 'out_of_range', { most: MOST }));
  }
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
  return query;
}
