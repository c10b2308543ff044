import { isDeepStrictEqual } from 'node:util';

import type { Client, ClientChanges } from '../contracts/index.ts';
import { fieldError } from '../errors.ts';
import type { Checked, FieldError } from '../errors.ts';
import { checkClientFields } from './fields.ts';
import type { CheckedFields, KnownNames } from './fields.ts';

/**
 * Checks a client with some of its fields changed.
 *
 * @returns all of its fields
 */
export function checkClientChanges(
  client: Client,
  changes: ClientChanges,
  known: KnownNames,
): Checked<CheckedFields> {
  const { id: _id, createdAt: _createdAt, updatedAt: _updatedAt, ...rest } = client;
  const { disabled: _disabled, disabledBy: _disabledBy, registration: _registration, ...fields } = rest;
  // `changes` may be a copy of the whole client, so that unchanged fields, such as the grant type, are no mistake.
  const changed = Object.entries(changes ?? {}).filter(
    ([field, value]) => !isDeepStrictEqual(value, client[field as keyof Client]),
  );
  const fixed = fixedFields(client, new Map(changed));
  if (fixed.length > 0) return { mistakes: fixed };
  return checkClientFields({ ...fields, ...Object.fromEntries(changed) }, known, client);
}

const FROM_DOCUMENT = ['name', 'redirectUris', 'confidential', 'keys', 'native'];

/** What nobody can change: the grant type, and of a client that nobody registered what decides whom users trust. */
function fixedFields({ registration }: Client, changed: ReadonlyMap<string, unknown>): readonly FieldError[] {
  if (changed.has('grantType')) return [fieldError('grantType', 'grant_type_fixed')];
  if (registration === 'manual') return [];
  const ofDocument = registration === 'metadata_document' ? FROM_DOCUMENT : [];
  const hasAllScopes = changed.has('scopes') && changed.get('scopes') === undefined;
  return [
    ...ofDocument.filter((field) => changed.has(field)).map((field) => fieldError(field, 'from_document')),
    ...(changed.get('firstParty') === true ? [fieldError('firstParty', 'unregistered_first_party')] : []),
    ...(hasAllScopes ? [fieldError('scopes', 'unregistered_scopes')] : []),
  ];
}
