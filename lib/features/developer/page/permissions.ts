import type { Client, ClientFields } from '../../../contracts/index.ts';
import { checkedBoxes, readForm } from '../../../http/form.ts';
import { saveApp, UNPOSTED } from './request.ts';
import type { AnswerApp, OfApp, ShownForm } from './request.ts';

/** The roles, permissions and scopes of an app: its own ones or, for an app that users authorize, those that it may ask for. */
export interface PermissionsPage extends OfApp, ShownForm {
  readonly kind: 'permissions';
  /** What is checked in the form. */
  readonly given: PostedPermissions;
  /** The effective permissions of an app that acts for itself and has an owner; `undefined` for other apps. */
  readonly effective: ReadonlySet<string> | undefined;
}

/** The checked boxes of the form. */
type PostedPermissions = Pick<Client, 'roles' | 'permissions' | 'scopes'>;

export const showPermissions: AnswerApp<PermissionsPage> = async (_ctx, app) =>
  permissionsOf(app, UNPOSTED, app.client);

/** Saves the form. */
export const savePermissions: AnswerApp<PermissionsPage> = async (ctx, app) => {
  const posted = await readForm(ctx);
  const given = readGiven(posted);
  return saveApp(app, {
    posted,
    changes: changesOf(given, app.client),
    page: `${app.path}/permissions`,
    showAgain: async (stored, refused) => permissionsOf(stored, refused, given),
  });
};

async function permissionsOf(
  app: OfApp,
  shown: ShownForm,
  given: PostedPermissions,
): Promise<PermissionsPage> {
  const { client, developer } = app;
  const isLimited = client.grantType === 'client_credentials' && client.ownerId !== undefined;
  const effective = isLimited ? await developer.effectivePermissions(client) : undefined;
  return { kind: 'permissions', ...shown, ...app, given, effective };
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
