import type { Client, ClientChanges, Developer } from '../../lib/contracts/index.ts';
import { BodyError } from '../../lib/errors.ts';
import { queryText, seeOther } from '../navigation.ts';
import type { Page } from '../page.ts';
import type { PageRequest } from '../page-request.ts';
import { sentence } from '../sentence.ts';
import type { Sentence } from '../sentence.ts';
import type { TextKey, Texts } from '../text.ts';
import { titleOfApp } from '../unregistered.ts';
import { nameOfArea } from '../viewer.ts';
import { formErrorOf, versionCondition } from './form.ts';
import type { FormError } from './form.ts';
import type { Tabbed } from './views.ts';

/** A request of a signed-in developer. */
export interface DeveloperRequest extends PageRequest {
  readonly developer: Developer;
  /** URL path of the developer area. */
  readonly home: string;
}

/** A request for a page of an app. */
export interface AppRequest extends DeveloperRequest {
  /** The app whose id is in the URL. */
  readonly client: Client;
  /** URL path of the app. */
  readonly path: string;
}

/** URL path of an app's page. */
export function appPath(home: string, id: string): string {
  return `${home}/${encodeURIComponent(id)}`;
}

/**
 * Saves changes of an app that a form was posted for, and redirects to the page of the form.
 *
 * @param showAgain - shows the form with the problems, for the app as it is stored now, when the registry refuses the changes
 */
export async function saveApp(
  request: AppRequest,
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
    readonly showAgain: (stored: AppRequest, wrong: FormError, error: unknown) => Promise<void>;
  },
): Promise<void> {
  const { client, ctx, developer } = request;
  try {
    await developer.update(client.id, changes, versionCondition(posted));
  } catch (error) {
    const wrong = formErrorOf(error, request);
    return showAgain({ ...request, client: await developer.find(client.id) }, wrong, error);
  }
  return seeOther(ctx, afterwards(page, 'saved'));
}

type Done = { [K in TextKey]: K extends `apps.done.${infer Name}` ? Name : never }[TextKey];

/** The URL of a page that confirms the last action. */
export function afterwards(path: string, done: Done): string {
  return `${path}?done=${done}`;
}

/** The confirmation of the last action, if the query has one that {@link afterwards} makes. */
export function readDone({ ctx, text }: DeveloperRequest): Sentence | undefined {
  const key = `apps.done.${queryText(ctx, 'done')}`;
  return isDone(key, text) ? sentence(text[key]) : undefined;
}

function isDone(key: string, text: Texts): key is `apps.done.${Done}` {
  return Object.hasOwn(text, key);
}

/** The random string of a form that must not be processed twice. */
export function readOnce(form: Readonly<Record<string, string>>): string {
  const once = form['once'] ?? '';
  if (/^[\w-]{16,64}$/.test(once)) return once;
  throw new BodyError('The form is incomplete.');
}

type Tab = 'settings' | 'permissions' | 'secrets' | 'keys' | 'activity';

/** Whether an app has a page of keys: also for keys that are stored from a time when the server accepted them. */
export function hasKeysPage(
  { acceptsKeys }: Pick<Developer, 'acceptsKeys'>,
  { confidential, keys }: Client,
): boolean {
  return confidential && (acceptsKeys || keys !== undefined);
}

/** The data that all pages of an app have: its name, a link to the list, and the tabs. */
export function frameOf(
  { client, developer, home, path, text }: AppRequest,
  here: Tab,
): Tabbed & { heading: Sentence; above: NonNullable<Page['above']> } {
  const tabs: readonly Tab[] = [
    ...(['settings', 'permissions'] as const),
    // A public app does not authenticate.
    ...(client.confidential ? (['secrets'] as const) : []),
    ...(hasKeysPage(developer, client) ? (['keys'] as const) : []),
    'activity',
  ];
  return {
    heading: sentence('{client}', { client: titleOfApp(client, text) }),
    above: { href: home, label: nameOfArea(developer, text) },
    isDisabled: client.disabled,
    tabs: tabs.map((tab) => ({
      href: tab === 'settings' ? path : `${path}/${tab}`,
      label: text[`apps.tab.${tab}`],
      isHere: tab === here,
    })),
  };
}
