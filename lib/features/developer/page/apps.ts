import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import { queryText, withQuery } from '../../../../interactions/navigation.ts';
import type { ClientKinds } from '../../../contracts/client-kinds.ts';
import type { Client, ClientFields, PageRedirect } from '../../../contracts/index.ts';
import { readForm, readOnce } from '../../../http/form.ts';
import { redirectTo } from '../../../login/answer-page.ts';
import { fieldsForPeople, homepageOf, readAppForm } from './app-form.ts';
import type { AppForm } from './app-form.ts';
import { afterwards, appPath, refusedForm, UNPOSTED } from './request.ts';
import type { OfDeveloper, ShownForm } from './request.ts';

/** The developer's own apps, or all apps for an administrator. */
export interface ListPage extends OfDeveloper {
  readonly kind: 'list';
  readonly status: 200;
  /** Sorted by name. */
  readonly apps: readonly Client[];
  /** What the user searches for; empty: all apps. */
  readonly search: string;
  readonly isFirst: boolean;
  /** The last of the apps when there are more. */
  readonly last: Client | undefined;
}

const PAGE_SIZE = 25;

/** Lists the apps, in pages. */
export async function listApps(ctx: Context, area: OfDeveloper): Promise<ListPage | PageRedirect> {
  const search = queryText(ctx, 'search').trim().slice(0, 100);
  const after = queryText(ctx, 'after');
  const found = await area.developer.list({
    limit: PAGE_SIZE + 1,
    ...(search === '' ? {} : { search }),
    ...(after === '' ? {} : { after }),
  });
  // The last app of the previous page may have been deleted.
  if (found.length === 0 && after !== '') return redirectTo(withQuery(area.home, { search }));

  const apps = found.slice(0, PAGE_SIZE);
  const last = found.length > PAGE_SIZE ? apps.at(-1) : undefined;
  return { kind: 'list', status: 200, ...area, apps, search, isFirst: after === '', last };
}

/** The form of a new app. */
export interface NewAppPage extends OfDeveloper, ShownForm {
  readonly kind: 'new';
  readonly form: AppForm;
  /** A random string, by which the form registers one app only, however often it is posted. */
  readonly once: string;
}

/** A new app with its first secret, which no other page shows. */
export interface CreatedPage extends OfDeveloper {
  readonly kind: 'created';
  readonly status: 200;
  readonly client: Client;
  readonly secret: string;
}

const EMPTY: AppForm = {
  name: '',
  clientUri: '',
  verified: false,
  grantType: 'authorization_code',
  place: 'server',
  redirectUris: '',
  further: {},
  firstParty: false,
};

export async function askForNewApp(area: OfDeveloper): Promise<NewAppPage> {
  return { kind: 'new', ...UNPOSTED, ...area, form: EMPTY, once: randomUUID() };
}

/**
 * Registers an app. The same form sent again, by a second click or a reload, registers no second app and redirects to the list.
 */
export async function createApp(
  ctx: Context,
  area: OfDeveloper,
  kinds: ClientKinds | undefined,
): Promise<NewAppPage | CreatedPage | PageRedirect> {
  const { developer, home } = area;
  const posted = await readForm(ctx);
  const form = readAppForm(posted);
  const once = readOnce(posted);
  try {
    const created = await developer.create(fieldsOf(form, area, kinds), once);
    if (!created) return afterwards(home, 'createdBefore');
    const { client, secret } = created;
    if (!secret) return afterwards(appPath(home, client.id), 'created');
    return { kind: 'created', status: 200, ...area, client, secret: secret.value };
  } catch (error) {
    return { kind: 'new', ...refusedForm(error), ...area, form, once };
  }
}

function fieldsOf(
  form: AppForm,
  { developer }: OfDeveloper,
  kinds: ClientKinds | undefined,
): Omit<ClientFields, 'ownerId'> {
  // The registry refuses an unknown grant type.
  const { firstParty, grantType, name } = form;
  return {
    name,
    ...homepageOf(form),
    grantType,
    // The form hides the fields of other kinds, so text that was typed before the kind was changed is not part of the app.
    ...(grantType === 'authorization_code'
      ? { ...fieldsForPeople(form, developer.furtherFields), ...(firstParty && { firstParty }) }
      : {}),
    ...(kinds?.on.get(grantType)?.isPublic && { confidential: false }),
  };
}
