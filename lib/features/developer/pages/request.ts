import type { Client, ClientChanges } from '../../../contracts/index.ts';
import type { Developer } from '../types.ts';
import { queryText, seeOther } from '../../../../interactions/navigation.ts';
import type { Page } from '../../../../interactions/page.ts';
import type { PageRequest } from '../../../../interactions/page-request.ts';
import { sentence } from '../../../../interactions/sentence.ts';
import type { Sentence } from '../../../../interactions/sentence.ts';
import type { AppTexts, DeveloperText } from '../texts.ts';
import { titleOfApp } from '../../../../interactions/unregistered.ts';
import { formErrorOf, versionCondition } from './form.ts';
import type { FormError } from './form.ts';
import type { AppView, Tabbed } from './view-types.ts';

/** A request of a signed-in developer. */
export interface DeveloperRequest extends PageRequest<DeveloperText, AppView> {
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

/** The text that names the list of apps, in its heading and in each link to it: an administrator sees all of them. */
export function nameOfArea({
  administrator,
}: Pick<Developer, 'administrator'>): 'page.apps' | 'page.allApps' {
  return administrator ? 'page.allApps' : 'page.apps';
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

type Done = { [K in DeveloperText]: K extends `apps.done.${infer Name}` ? Name : never }[DeveloperText];

/** The URL of a page that confirms the last action. */
export function afterwards(path: string, done: Done): string {
  return `${path}?done=${done}`;
}

/** The confirmation of the last action, if the query has one that {@link afterwards} makes. */
export function readDone({ ctx, text }: DeveloperRequest): Sentence | undefined {
  const key = `apps.done.${queryText(ctx, 'done')}`;
  return isDone(key, text) ? sentence(text[key]) : undefined;
}

function isDone(key: string, text: AppTexts): key is `apps.done.${Done}` {
  return Object.hasOwn(text, key);
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
    above: { href: home, label: text[nameOfArea(developer)] },
    isDisabled: client.disabled,
    tabs: tabs.map((tab) => ({
      href: tab === 'settings' ? path : `${path}/${tab}`,
      label: text[`apps.tab.${tab}`],
      isHere: tab === here,
    })),
  };
}
