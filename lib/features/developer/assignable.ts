import { isDeepStrictEqual } from 'node:util';

import { holdsRole } from '../../access/principal.ts';
import type {
  Assignment,
  Client,
  ClientFields,
  FieldError,
  FurtherField,
  Gate,
} from '../../contracts/index.ts';
import { fieldError } from '../../contracts/field-errors.ts';
import { ClientInvalidError } from '../../errors.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import type { Developer } from './types.ts';

/** All roles, permissions and scopes, and which of them the user may assign to an app. */
export type AssignableNames = Pick<Developer, 'roles' | 'permissions' | 'scopes'>;

/**
 * Finds what a user may assign to an app: the user's own permissions, and roles that contain no others. An administrator may
 * assign everything.
 */
export function findAssignable(
  user: { readonly administrator: boolean; readonly assignment: Assignment },
  gate: Pick<Gate, 'effectivePermissions' | 'permissions' | 'roles'>,
  scopes: AssignableNames['scopes'],
): AssignableNames {
  const { administrator, assignment } = user;
  const effective = gate.effectivePermissions(assignment);
  return {
    roles: Object.entries(gate.roles).map(([name, permissions]) => ({
      name,
      permissions: permissions.map((permission) => ({
        name: permission,
        description: gate.permissions[permission]!.description,
      })),
      assignable: administrator || holdsRole(name, assignment, { effective, roles: gate.roles }),
    })),
    permissions: Object.entries(gate.permissions).map(([name, { description }]) => ({
      name,
      description,
      assignable: administrator || effective.has(name),
    })),
    scopes,
  };
}

/** Every scope, with the APIs that have it. */
export function describeScopes({
  issuer,
  resources,
  scopes,
}: Pick<ResolvedOptions, 'issuer' | 'resources' | 'scopes'>): AssignableNames['scopes'] {
  return Array.from(scopes, ([name, { description }]) => ({
    name,
    description,
    apis: Array.from(resources.values()).flatMap((api) => {
      const scope = api.scopes.get(name);
      const resource = api.resource === issuer ? undefined : api.resource;
      if (!scope) return [];
      const { description: own, optional = false } = scope;
      return [{ resource, name: api.name, description: own, optional }];
    }),
  }));
}

/**
 * Checks the roles, permissions and scopes that a change assigns to an app, and returns those to store.
 *
 * Names that the app has and the user may not assign stay, whether or not they were requested, because the user's form does not
 * offer them. Names that are no longer defined are removed, also from fields that the change leaves out, because the registry
 * would refuse every change of the app.
 *
 * @param client - `undefined` for a new app
 * @throws ClientInvalidError with one entry for each name that the user may not assign
 */
export function checkAssigned(
  client: Client | undefined,
  changes: Partial<ClientFields>,
  { permissions, roles, scopes }: AssignableNames,
): Pick<ClientFields, 'roles' | 'permissions' | 'scopes'> {
  const errors: FieldError[] = [];
  const given = {
    ...checkNames('roles', roles),
    ...checkNames('permissions', permissions),
    ...checkScopes(),
  };
  if (errors.length > 0) throw new ClientInvalidError(errors);
  return given;

  function checkNames(
    field: 'roles' | 'permissions',
    offered: readonly { readonly name: string; readonly assignable: boolean }[],
  ): Pick<ClientFields, 'roles' | 'permissions'> {
    const before = client?.[field] ?? [];
    const requested: readonly unknown[] = changes[field] ?? before;
    // The registry refuses a value that is no array.
    if (!Array.isArray(requested)) return {};
    const assignable = new Set(offered.filter((one) => one.assignable).map(({ name }) => name));
    for (const name of requested) {
      if (!assignable.has(name) && !before.includes(name)) {
        errors.push(fieldError(field, 'not_assignable', { name: String(name) }));
      }
    }
    const after = offered
      .map(({ name }) => name)
      .filter((name) => (assignable.has(name) ? requested : before).includes(name));
    return changes[field] === undefined && after.length === before.length ? {} : { [field]: after };
  }

  function checkScopes(): Pick<ClientFields, 'scopes'> {
    const before = client?.scopes;
    const after = before?.filter((known) => scopes.some(({ name }) => name === known));
    return 'scopes' in changes || after?.length === before?.length ? {} : { scopes: after };
  }
}

/**
 * Refuses changes that only an administrator may make: whether an app is first-party, and whether it is verified. In a first-party app,
 * these are also its name, its homepage, its type, its redirect URIs and further scopes, because users are not asked for consent before a
 * code is sent to it.
 *
 * @param further - the fields of the features of the server
 * @param client - the app before the change; `undefined` for a new app
 * @throws ClientInvalidError with one entry for each refused field
 */
export function refuseAdministratorChanges(
  changes: Partial<ClientFields>,
  further: readonly FurtherField[],
  client?: Client,
): void {
  const isFirstParty = client?.firstParty ?? false;
  const errors: FieldError[] = [];
  for (const field of ['firstParty', 'verified'] as const) {
    if (field in changes && (changes[field] ?? false) !== (client?.[field] ?? false))
      errors.push(fieldError(field, 'administrators_only'));
  }
  if (client && isFirstParty) {
    const ofFeatures = further.map(({ name }) => name as keyof ClientFields & keyof Client);
    for (const field of [...FIRST_PARTY_FIXED, ...ofFeatures]) {
      if (field in changes && !isDeepStrictEqual(changes[field], client[field]))
        errors.push(fieldError(field, 'first_party_fixed'));
    }
    if ('scopes' in changes && addsScope(changes.scopes, client.scopes))
      errors.push(fieldError('scopes', 'first_party_fixed'));
  }
  if (errors.length > 0) throw new ClientInvalidError(errors);
}

const FIRST_PARTY_FIXED = ['name', 'clientUri', 'redirectUris', 'confidential', 'native'] as const;

/** Whether a change of the scopes adds one. `undefined` stands for every scope. */
function addsScope(requested: Client['scopes'], before: Client['scopes']): boolean {
  if (before === undefined) return false;
  return !Array.isArray(requested) || requested.some((scope) => !before.includes(scope));
}
