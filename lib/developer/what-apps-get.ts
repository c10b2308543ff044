import { isDeepStrictEqual } from 'node:util';

import type { Assignment, Client, ClientFields, Developer, Gate } from '../contracts/index.ts';
import { ClientInvalidError, fieldError } from '../errors.ts';
import type { FieldError } from '../errors.ts';

/** Everything that an app can be given, and which of it the person may give. */
export type Offer = Pick<Developer, 'roles' | 'permissions' | 'scopes'>;

/**
 * What a person may give to an app: the permissions that they hold themselves, and the roles that hold nothing else. An
 * administrator may give everything.
 */
export function offerTo(
  person: { readonly administrator: boolean; readonly assignment: Assignment },
  gate: Pick<Gate, 'effective' | 'permissions' | 'roles'>,
  scopes: ReadonlyMap<string, { readonly description: string }>,
): Offer {
  const { administrator, assignment } = person;
  const effective = gate.effective(assignment);
  // A role without permissions may mean something to the host, so holding all of none is not enough.
  const mayGive = (role: string, permissions: readonly string[]): boolean =>
    assignment.roles.includes(role) ||
    (permissions.length > 0 && permissions.every((name) => effective.has(name)));
  return {
    roles: Object.entries(gate.roles).map(([name, permissions]) => ({
      name,
      permissions: permissions.map((permission) => ({
        name: permission,
        description: gate.permissions[permission]!.description,
      })),
      assignable: administrator || mayGive(name, permissions),
    })),
    permissions: Object.entries(gate.permissions).map(([name, { description }]) => ({
      name,
      description,
      assignable: administrator || effective.has(name),
    })),
    scopes: [...scopes].map(([name, { description }]) => ({ name, description })),
  };
}

/**
 * The roles, permissions and scopes that a change gives to an app.
 *
 * What the app has and the person may not give stays, whether they asked for it or not: their form does not offer it.
 * Names that the server no longer knows go, also where nothing was asked: the app could not be changed at all with them.
 *
 * @param client - `undefined` for an app that is about to be made
 * @throws ClientInvalidError when the person asks for what they may not give
 */
export function giveTo(
  client: Client | undefined,
  changes: Partial<ClientFields>,
  { permissions, roles, scopes }: Offer,
): Pick<ClientFields, 'roles' | 'permissions' | 'scopes'> {
  const mistakes: FieldError[] = [];
  const given = {
    ...give('roles', roles),
    ...give('permissions', permissions),
    ...giveScopes(),
  };
  if (mistakes.length > 0) throw new ClientInvalidError(mistakes);
  return given;

  function give(
    field: 'roles' | 'permissions',
    offered: readonly { readonly name: string; readonly assignable: boolean }[],
  ): Pick<ClientFields, 'roles' | 'permissions'> {
    const before = client?.[field] ?? [];
    const wanted: readonly unknown[] = changes[field] ?? before;
    // Not what the types say: the registry's to refuse.
    if (!Array.isArray(wanted)) return {};
    const assignable = new Set(offered.filter((one) => one.assignable).map(({ name }) => name));
    for (const name of wanted) {
      if (!assignable.has(name) && !before.includes(name)) {
        mistakes.push(fieldError(field, 'not_assignable', { name: String(name) }));
      }
    }
    const after = offered
      .map(({ name }) => name)
      .filter((name) => (assignable.has(name) ? wanted : before).includes(name));
    return changes[field] === undefined && after.length === before.length ? {} : { [field]: after };
  }

  function giveScopes(): Pick<ClientFields, 'scopes'> {
    const before = client?.scopes;
    const after = before?.filter((known) => scopes.some(({ name }) => name === known));
    return 'scopes' in changes || after?.length === before?.length ? {} : { scopes: after };
  }
}

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
