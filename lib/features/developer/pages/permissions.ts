import type { PermissionsPage } from '../page/permissions.ts';
import { versionOf } from '../page/request.ts';
import { confirmationOf, frameOf, problemsOf } from './request.ts';
import type { Shown } from './request.ts';

/** Shows the roles, permissions and scopes of an app. */
export function showPermissions(request: Shown<PermissionsPage>): void {
  const { client, given, path, show, status } = request;
  show({
    view: 'apps/permissions',
    ...frameOf(request, 'permissions'),
    status,
    problems: problemsOf(request),
    done: confirmationOf(request),
    action: `${path}/permissions`,
    version: versionOf(client),
    hasPeople: client.grantType !== 'client_credentials',
    roles: choices(rolesOf(request), 'role', client.roles, given.roles),
    permissions: choices(permissionsOf(request), 'permission', client.permissions, given.permissions),
    scopes: scopesByApi(request),
    everyScope: given.scopes === undefined,
    effect: effectOf(request),
  });
}

/** The effective permissions of an app that acts for itself, and those it was given but its owner does not have. */
function effectOf({ client, developer, effective, nameOf }: Shown<PermissionsPage>) {
  if (!effective) return undefined;
  const given = new Set([
    ...client.permissions,
    ...developer.roles
      .filter(({ name }) => client.roles.includes(name))
      .flatMap(({ permissions }) => permissions.map(({ name }) => name)),
  ]);
  const named = developer.permissions.filter(({ name }) => given.has(name));
  const wordsOf = (isEffective: boolean): readonly string[] =>
    named
      .filter(({ name }) => effective.has(name) === isEffective)
      .map((permission) => nameOf('permission', permission));
  return { permissions: wordsOf(true), without: wordsOf(false) };
}

/** A role or a permission with its label in the language of the page. */
interface Offered {
  readonly name: string;
  readonly label: string;
  readonly details: readonly string[];
  readonly assignable: boolean;
}

function rolesOf({ developer, nameOf }: Shown<PermissionsPage>): readonly Offered[] {
  return developer.roles.map(({ assignable, name, permissions }) => ({
    name,
    label: nameOf('role', { name, description: name.replaceAll('_', ' ') }),
    details: permissions.map((permission) => nameOf('permission', permission)),
    assignable,
  }));
}

function permissionsOf({ developer, nameOf }: Shown<PermissionsPage>): readonly Offered[] {
  return developer.permissions.map((permission) => ({
    name: permission.name,
    label: nameOf('permission', permission),
    details: [],
    assignable: permission.assignable,
  }));
}

/** The scopes, under the names of the APIs that have them. A scope that several APIs have is one box, under the names of all. */
function scopesByApi({ brand, developer, given, nameOf, text }: Shown<PermissionsPage>) {
  const described = developer.scopes.map(({ apis, description, name }, index) => {
    const labels = apis.map((api) => nameOf('scope', { name, description: api.description }, api.resource));
    const isAboutUser = apis.length === 0;
    return {
      api: isAboutUser
        ? text['permissions.aboutUser']
        : apis.map((api) => (api.resource === undefined ? brand : api.name)).join(', '),
      field: `scope-${index}`,
      name,
      label: isAboutUser
        ? nameOf('scope', { name, description, aboutUser: true })
        : [...new Set(labels)].join('; '),
      code: name,
      details: [],
      checked: given.scopes?.includes(name) ?? false,
      isOpen: true,
    };
  });
  return Array.from(
    Map.groupBy(described, ({ api }) => api),
    ([api, boxes]) => ({ api, boxes }),
  );
}

/** The boxes that the developer may check, and those that the app was given by another user, which cannot be changed. */
function choices(
  offered: readonly Offered[],
  prefix: string,
  has: readonly string[],
  checked: readonly string[],
) {
  return offered
    .filter(({ assignable, name }) => assignable || has.includes(name))
    .map(({ assignable, details, label, name }, index) => ({
      field: `${prefix}-${index}`,
      name,
      label,
      details,
      checked: (assignable ? checked : has).includes(name),
      isOpen: assignable,
    }));
}
