import { isDeepStrictEqual } from 'node:util';

import type { Client, ClientFields } from '../contracts.ts';
import { ClientInvalidError, fieldError } from '../errors.ts';
import type { FieldError } from '../errors.ts';

/**
 * Refuses what only an administrator may say of an app: whether it is the platform's own; and of one that is, its name, its
 * kind, and where people are sent to with a code that they were never asked about.
 *
 * @param client - what it is now; `undefined` for an app that is about to be made
 * @throws ClientInvalidError with one entry per mistake
 */
export function refuseFirstParty(changes: Partial<ClientFields>, client?: Client): void {
  const isFirstParty = client?.firstParty ?? false;
  const mistakes: FieldError[] = [];
  if ('firstParty' in changes && (changes.firstParty ?? false) !== isFirstParty) {
    mistakes.push(fieldError('firstParty', 'administrators_only'));
  }
  if (client && isFirstParty) {
    for (const field of FIXED) {
      if (field in changes && !isDeepStrictEqual(changes[field], client[field]))
        mistakes.push(fieldError(field, 'first_party_fixed'));
    }
    if ('scopes' in changes && isWider(changes.scopes, client.scopes))
      mistakes.push(fieldError('scopes', 'first_party_fixed'));
  }
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
}

const FIXED = ['name', 'redirectUris', 'confidential', 'native'] as const;

/** `undefined`: every scope. */
function isWider(wanted: Client['scopes'], before: Client['scopes']): boolean {
  if (before === undefined) return false;
  return !Array.isArray(wanted) || wanted.some((scope) => !before.includes(scope));
}
