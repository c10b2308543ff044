import type { Context } from 'koa';

import type {
  Client,
  ClientChanges,
  ClientSecret,
  FieldError,
  PageRedirect,
} from '../../../contracts/index.ts';
import { ClientChangedError, ClientInvalidError } from '../../../errors.ts';
import { redirectTo } from '../../../login/answer-page.ts';
import type { DeveloperText } from '../texts.ts';
import type { Developer } from '../types.ts';

/** What each page of the developer area has. */
export interface OfDeveloper {
  readonly developer: Developer;
  /** URL path of the developer area. */
  readonly home: string;
  /** What the user has just done, as the URL says: see {@link afterwards}. It may be any text. */
  readonly done: string;
}

/** What each page of an app has. */
export interface OfApp extends OfDeveloper {
  /** The app whose id is in the URL. */
  readonly client: Client;
  /** URL path of the app. */
  readonly path: string;
}

/** Ask before an app is changed. */
export interface ConfirmPage extends OfApp {
  readonly kind: 'confirm';
  readonly status: 200;
  readonly change: 'delete' | 'disable' | 'revoke' | 'remove keys' | 'delete secret';
  /** The secret that is deleted. */
  readonly secret: ClientSecret | undefined;
}

/** Answers a request of a developer who may have the page of this app. */
export type AnswerApp<Page> = (ctx: Context, app: OfApp) => Promise<Page | PageRedirect>;

/** URL path of an app's page. */
export function appPath(home: string, id: string): string {
  return `${home}/${encodeURIComponent(id)}`;
}

type Done = { [K in DeveloperText]: K extends `apps.done.${infer Name}` ? Name : never }[DeveloperText];

/** Redirects to a page that confirms the last action. */
export function afterwards(path: string, done: Done): PageRedirect {
  return redirectTo(`${path}?done=${done}`);
}

/** How a form is shown. */
export interface ShownForm {
  readonly status: 200 | 409 | 422;
  /** The mistakes in the posted form. With 409 there is another one: the app has been changed since the form was shown. */
  readonly problems: readonly FieldError[];
}

/** A form that was not posted yet. */
export const UNPOSTED: ShownForm = { status: 200, problems: [] };

/**
 * How a form is shown again whose changes the registry has refused.
 *
 * @throws the error itself when it is of another kind
 */
export function refusedForm(error: unknown): ShownForm {
  if (error instanceof ClientChangedError) return { status: 409, problems: [] };
  if (!(error instanceof ClientInvalidError)) throw error;
  return { status: 422, problems: error.fields };
}

/**
 * The version of an app, a hidden field of its form. A form whose version is no longer the stored one is refused: saving it
 * would overwrite a change that another user, or the same user in another tab, has made since.
 */
export function versionOf({ updatedAt }: Client): string {
  return String(updatedAt);
}

/**
 * Saves changes of an app that a form was posted for, and redirects to the page of the form.
 *
 * @param showAgain - the form with the mistakes, for the app as it is stored now, when the registry refuses the changes
 */
export async function saveApp<Page>(
  app: OfApp,
  {
    changes,
    page,
    posted,
    showAgain,
  }: {
    readonly changes: ClientChanges;
    /** URL path of the page. */
    readonly page: string;
    readonly posted: Readonly<Record<string, string>>;
    readonly showAgain: (stored: OfApp, refused: ShownForm) => Promise<Page>;
  },
): Promise<Page | PageRedirect> {
  const { client, developer } = app;
  try {
    // Without the field, `NaN` equals no version, and the form is refused.
    await developer.update(client.id, changes, { ifUpdatedAt: Number(posted['version']) });
  } catch (error) {
    const refused = refusedForm(error);
    return showAgain({ ...app, client: await developer.find(client.id) }, refused);
  }
  return afterwards(page, 'saved');
}
