import type { Client, ClientFields } from '../../lib/contracts.ts';
import { ClientInvalidError } from '../../lib/errors.ts';
import { readForm } from '../../lib/http/body.ts';
import type { Problem } from '../page.ts';
import { seeOther } from '../see-other.ts';
import { frameOf } from './app-page.ts';
import { problemsOf, versionOf } from './form.ts';
import type { Choice } from './views.ts';
import { afterwards, appPath, findApp, showPage, whatWasDone } from './visit.ts';
import type { Visit } from './visit.ts';

/** What is checked in the form. */
type Given = Pick<Client, 'roles' | 'permissions' | 'scopes'>;

/** Shows what an app may do: by itself, or, when people sign in to it, which scopes it may ask them for. */
export async function showPermissions(visit: Visit): Promise<void> {
  const client = await findApp(visit);
  show(visit, client, { given: client });
}

/** Saves what was checked. */
export async function savePermissions(visit: Visit): Promise<void> {
  const { ctx, developer, home, site } = visit;
  const client = await findApp(visit);
  const posted = await readForm(ctx);
  const given = readGiven(posted);
  if (posted['version'] !== versionOf(client)) {
    return show(visit, client, {
      given,
      status: 409,
      problems: [{ message: site.text['apps.problem.changed'] }],
    });
  }
  try {
    await developer.update(client.id, changesOf(given, client));
  } catch (error) {
    if (!(error instanceof ClientInvalidError)) throw error;
    return show(visit, client, { given, status: 422, problems: problemsOf(error, site.text) });
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

function show(
  visit: Visit,
  client: Client,
  { given, ...page }: { given: Given; status?: number; problems?: readonly Problem[] },
): void {
  const { developer, home } = visit;
  showPage(visit, {
    view: 'apps/permissions',
    ...frameOf(visit, client, 'permissions'),
    done: whatWasDone(visit),
    action: appPath(home, client.id, 'permissions'),
    version: versionOf(client),
    hasPeople: client.grantType === 'authorization_code',
    roles: choices(developer.roles, 'role', client.roles, given.roles),
    permissions: choices(developer.permissions, 'permission', client.permissions, given.permissions),
    scopes: developer.scopes.map(({ name, description }, index) => ({
      field: `scope-${index}`,
      name,
      label: description,
      details: [],
      isChecked: given.scopes?.includes(name) ?? false,
      isOpen: true,
    })),
    everyScope: given.scopes === undefined,
    ...page,
  });
}

/** The boxes of what the person may give, and of what the app has from somebody else. */
function choices(
  offered: readonly {
    readonly name: string;
    readonly description?: string;
    readonly permissions?: readonly string[];
    readonly assignable: boolean;
  }[],
  prefix: string,
  has: readonly string[],
  checked: readonly string[],
): readonly Choice[] {
  return offered
    .filter(({ assignable, name }) => assignable || has.includes(name))
    .map(({ assignable, description, name, permissions = [] }, index) => ({
      field: `${prefix}-${index}`,
      name,
      label: description ?? name.replaceAll('_', ' '),
      details: permissions,
      isChecked: (assignable ? checked : has).includes(name),
      isOpen: assignable,
    }));
}
