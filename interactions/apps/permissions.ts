import type { Client, ClientFields } from '../../lib/contracts/index.ts';
import { readForm } from '../../lib/http/body.ts';
import { seeOther } from '../navigation.ts';
import type { Page, Problem } from '../page.ts';
import { formErrorOf, stateSeen, versionOf } from './form.ts';
import type { Choice } from './views.ts';
import { afterwards, appPath, findApp, frameOf, showPage, whatWasDone } from './developer-request.ts';
import type { DeveloperRequest } from './developer-request.ts';

/** What is checked in the form. */
type Given = Pick<Client, 'roles' | 'permissions' | 'scopes'>;

/** Shows what an app may do: by itself, or, when people sign in to it, which scopes it may ask them for. */
export async function showPermissions(request: DeveloperRequest): Promise<void> {
  const client = await findApp(request);
  await show(request, client, { given: client });
}

/** Saves what was checked. */
export async function savePermissions(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home, pageContext } = request;
  const client = await findApp(request);
  const posted = await readForm(ctx);
  const given = readGiven(posted);
  try {
    await developer.update(client.id, changesOf(given, client), stateSeen(posted));
  } catch (error) {
    return show(request, await findApp(request), { given, ...formErrorOf(error, pageContext.text) });
  }
  return seeOther(ctx, afterwards(appPath(home, client.id, 'permissions'), 'saved'));
}

/** The names are values, not names of fields: a scope may hold characters that the name of a field may not. */
function readGiven(posted: Readonly<Record<string, string>>): Given {
  const checked = (prefix: string): string[] =>
    Object.entries(posted)
      .filter(([field]) => field.startsWith(`${prefix}-`))
      .map(([, value]) => value);
  return {
    roles: checked('role'),
    permissions: checked('permission'),
    scopes: posted['everyScope'] === 'yes' ? undefined : checked('scope'),
  };
}

function changesOf({ permissions, roles, scopes }: Given, { grantType }: Client): Partial<ClientFields> {
  return grantType === 'client_credentials' ? { roles, permissions } : { roles, permissions, scopes };
}

/** What an app that acts for itself may do at this moment, and which of what it was given its owner does not hold. */
async function effectOf(
  { developer, pageContext }: DeveloperRequest,
  client: Client,
): Promise<Extract<Page, { view: 'apps/permissions' }>['effect']> {
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
      .map((permission) => pageContext.nameOf('permission', permission));
  return { permissions: wordsOf(true), without: wordsOf(false) };
}

async function show(
  request: DeveloperRequest,
  client: Client,
  { given, ...page }: { given: Given; status?: number; problems?: readonly Problem[] },
): Promise<void> {
  const { developer, home, pageContext } = request;
  showPage(request, {
    view: 'apps/permissions',
    ...frameOf(request, client, 'permissions'),
    done: whatWasDone(request),
    action: appPath(home, client.id, 'permissions'),
    version: versionOf(client),
    hasPeople: client.grantType === 'authorization_code',
    roles: choices(rolesOf(request), 'role', client.roles, given.roles),
    permissions: choices(permissionsOf(request), 'permission', client.permissions, given.permissions),
    scopes: developer.scopes.map((scope, index) => ({
      field: `scope-${index}`,
      name: scope.name,
      label: pageContext.nameOf('scope', scope),
      details: [],
      isChecked: given.scopes?.includes(scope.name) ?? false,
      isOpen: true,
    })),
    everyScope: given.scopes === undefined,
    effect: await effectOf(request, client),
    ...page,
  });
}

/** A role or a permission, in the words of the page. */
interface Offered extends Pick<Choice, 'name' | 'label' | 'details'> {
  readonly assignable: boolean;
}

function rolesOf({ developer, pageContext: { nameOf } }: DeveloperRequest): readonly Offered[] {
  return developer.roles.map(({ assignable, name, permissions }) => ({
    name,
    label: nameOf('role', { name, description: name.replaceAll('_', ' ') }),
    details: permissions.map((permission) => nameOf('permission', permission)),
    assignable,
  }));
}

function permissionsOf({ developer, pageContext: { nameOf } }: DeveloperRequest): readonly Offered[] {
  return developer.permissions.map((permission) => ({
    name: permission.name,
    label: nameOf('permission', permission),
    details: [],
    assignable: permission.assignable,
  }));
}

/** The boxes of what the person may give, and of what the app has from somebody else. */
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
