import type { Context } from 'koa';
import type { Client, Developer } from '../../lib/contracts/index.ts';
import { BodyError } from '../../lib/errors.ts';
import { pathParameter, queryText } from '../navigation.ts';
import type { Page, Viewer } from '../page.ts';
import { sentence } from '../sentence.ts';
import type { Sentence } from '../sentence.ts';
import type { PageContext } from '../page-context.ts';
import type { TextKey } from '../text.ts';
import { titleOfApp } from '../unregistered.ts';
import type { Tabbed } from './views.ts';

/** A request of a signed-in developer. */
export interface DeveloperRequest {
  readonly ctx: Context;
  readonly pageContext: PageContext;
  readonly developer: Developer;
  readonly viewer: Viewer;
  /** URL path of the developer area. */
  readonly home: string;
}

/** A route handler of the developer area: shows a page or redirects to one. */
export type Step = (request: DeveloperRequest) => Promise<void>;

/** The app whose id is in the URL. @throws ERR_CLIENT_NOT_FOUND */
export async function findApp({ ctx, developer }: DeveloperRequest): Promise<Client> {
  return developer.find(pathParameter(ctx, 'id'));
}

/** URL path of an app's page. */
export function appPath(home: string, id: string, tab = ''): string {
  return `${home}/${encodeURIComponent(id)}${tab && `/${tab}`}`;
}

/** Shows a page of the developer area. */
export function showPage({ ctx, pageContext, viewer }: DeveloperRequest, page: Page): void {
  pageContext.show(ctx, { viewer, wide: true, ...page });
}

type Done = { [K in TextKey]: K extends `apps.done.${infer Name}` ? Name : never }[TextKey];

/** The URL of a page that confirms the last action. */
export function afterwards(path: string, done: Done): string {
  return `${path}?done=${done}`;
}

/** The confirmation of the last action, if the query has one that {@link afterwards} makes. */
export function readDone({ ctx, pageContext }: DeveloperRequest): Sentence | undefined {
  const key = `apps.done.${queryText(ctx, 'done')}`;
  return isDone(key, pageContext) ? sentence(pageContext.text[key]) : undefined;
}

function isDone(key: string, { text }: PageContext): key is `apps.done.${Done}` {
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
  { developer, home, pageContext: { text } }: DeveloperRequest,
  client: Client,
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
    above: { href: home, label: text['page.apps'] },
    isDisabled: client.disabled,
    tabs: tabs.map((tab) => ({
      href: appPath(home, client.id, tab === 'settings' ? '' : tab),
      label: text[`apps.tab.${tab}`],
      isHere: tab === here,
    })),
  };
}
