import { AUTHORIZATION_CODE } from './authorization-code.ts';
import { CLIENT_CREDENTIALS } from './client-credentials.ts';
import type { ClientKind } from '../../contracts/client-kinds.ts';

/** The kinds of clients of every server. */
export const CORE_KINDS: readonly ClientKind[] = [AUTHORIZATION_CODE, CLIENT_CREDENTIALS];

/** Kinds by their names. */
export function kindsByName(kinds: readonly ClientKind[]): ReadonlyMap<string, ClientKind> {
  return new Map(kinds.map((kind) => [kind.name, kind]));
}
