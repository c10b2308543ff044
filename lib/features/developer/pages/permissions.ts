import type { Client, ClientFields } from '../../../contracts/index.ts';
import { readForm } from '../../../http/form.ts';
import { checkedBoxes } from '../../../../interactions/access.ts';
import { versionOf } from './form.ts';
import type { FormError } from './form.ts';
import type { AppView, Choice } from './view-types.ts';
import { frameOf, readDone, saveApp } from './request.ts';
import type { AppRequest } from './request.ts';

/** The checked boxes of the form. */
type PostedPermissions = Pick<Client, 'roles' | 'permissions' | 'scopes'>;

/** Shows the roles, permissions and scopes of an app: its own, or, for an app that users authorize, those it may ask for. */
export async function showPermissions(request: AppRequest): Promise<void> {
  await show(request, { given: request.client });
}

/** Saves the form. */
export async function savePermissions(request: AppRequest): Promise<void> {
  const { client, ctx, path } = request;
  const posted = await readForm(ctx);
  const given = readGiven(posted);
  return saveApp(request, {
    posted,
    changes: changesOf(given, client),
    page: `${path}/permissions`,
    showAgain: async (stored, wrong) => show(stored, { given, ...wrong }),
  });
}

/** Reads the checked boxes. A scope is the value of its field, because it may contain characters that field names cannot. */
function readGiven(posted: Readonly<Record<string, string>>): PostedPermissions {
  return {
    roles: checkedBoxes(posted, 'role-'),
    permissions: checkedBoxes(posted, 'permission-'),
    scopes: posted['everyScope'] === 'yes' ? undefined : checkedBoxes(posted, 'scope-'),
  };
}

function changesOf(
  { permissions, roles, scopes }: PostedPermissions,
  { grantType }: Client,
): Partial<ClientFields> {
  return grantType === 'client_credentials' ? { roles, permissions } : { roles, permissions, scopes };
}

/** The effective permissions of an app that acts for itself, and those it was given but its owner does not have. */
async function effectOf({
  client,
  developer,
  nameOf,
}: AppRequest): Promise<Extract<AppView, { view: 'apps/permissions' }>['effect']> {
  if (client.grantType !== 'client_credentials' || client.ownerId === undefined) return undefined;
  const given = new Set([
    ...client.permissions,
    ...developer.roles
      .filter(({ name }) => client.roles.includes(name))
      .flatMap(({ permissions }) => permissions.map(({ name }) => name)),
  ]);
  const effective = await developer.effective(client);
  const named = developer.permissions.filter(({ name }) => given.has(name));
  const wordsOf = (isEffective: boolean): readonly string[] =>
    named
      .filter(({ name }) => effective.has(name) === isEffective)
      .map((permission) => nameOf('permission', permission));
  return { permissions: wordsOf(true), without: wordsOf(false) };
}

async function show(
  request: AppRequest,
  { given, ...page }: { given: PostedPermissions } & Partial<FormError>,
): Promise<void> {
  const { client, developer, nameOf, path } = request;
  request.show({
    view: 'apps/permissions',
    ...frameOf(request, 'permissions'),
    done: readDone(request),
    action: `${path}/permissions`,
    version: versionOf(client),
    hasPeople: client.grantType !== 'client_credentials',
    roles: choices(rolesOf(request), 'role', client.roles, given.roles),
    permissions: choices(permissionsOf(request), 'permission', client.permissions, given.permissions),
    scopes: developer.scopes.map((scope, index) => ({
      field: `scope-${index}`,
      name: scope.name,
      label: nameOf('scope', scope),
      details: [],
      isChecked: given.scopes?.includes(scope.name) ?? false,
      isOpen: true,
    })),
    everyScope: given.scopes === undefined,
    effect: await effectOf(request),
    ...page,
  });
}

/** A role or a permission with its label in the language of the page. */
interface Offered extends Pick<Choice, 'name' | 'label' | 'details'> {
  readonly assignable: boolean;
}

function rolesOf({ developer, nameOf }: AppRequest): readonly Offered[] {
  return developer.roles.map(({ assignable, name, permissions }) => ({
    name,
    label: nameOf('role', { name, description: name.replaceAll('_', ' ') }),
    details: permissions.map((permission) => nameOf('permission', permission)),
    assignable,
  }));
}

function permissionsOf({ developer, nameOf }: AppRequest): readonly Offered[] {
  return developer.permissions.map((permission) => ({
    name: permission.name,
    label: nameOf('permission', permission),
    details: [],
    assignable: permission.assignable,
  }));
}

/** The boxes that the developer may check, and those that the app was given by another user, which cannot be changed. */
function choices(
  offered: readonly Offered[],
  prefix: string,
  has: readonly string[],
  checked: readonly string[],
): readonly Choice[] {
  return offered
    .filter(({ assignable, name }) => assignable || has.includes(name))
    .map(({ assignable, details, label, name }, index) => ({
      field: `${prefix}-${index}`,
      name,
      label,
      details,
      isChecked: (assignable ? checked : has).includes(name),
      isOpen: assignable,
    }));
}
