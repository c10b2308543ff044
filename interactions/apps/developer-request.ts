import type { Context } from 'koa';
import type { Client, Developer } from '../../lib/contracts/index.ts';
import { BodyError } from '../../lib/errors.ts';
import { queryText } from '../navigation.ts';
import type { Page, Viewer } from '../page.ts';
import { sentence } from '../sentence.ts';
import type { Sentence } from '../sentence.ts';
import type { PageContext } from '../page-context.ts';
import type { TextKey } from '../text.ts';
import type { Tabbed } from './views.ts';

/** A request of a developer who is signed in. */
export interface DeveloperRequest {
  readonly ctx: Context;
  readonly pageContext: PageContext;
  readonly developer: Developer;
  readonly viewer: Viewer;
  /** URL path of the developer area. */
  readonly home: string;
}

/** One step of the developer area: shows a page or goes on to one. */
export type Step = (request: DeveloperRequest) => Promise<void>;

/** The app that the URL names. @throws ERR_CLIENT_NOT_FOUND */
export async function findApp({ ctx, developer }: DeveloperRequest): Promise<Client> {
  return developer.find(parameter(ctx, 'id'));
}

/** A parameter of the path. */
export function parameter(ctx: Context, name: string): string {
  return (ctx['params'] as Record<string, string>)[name] ?? '';
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

/** A URL of a page that says what has just been done. */
export function afterwards(path: string, done: Done): string {
  return `${path}?done=${done}`;
}

/** What has just been done, if it is one of the words of {@link afterwards}. */
export function whatWasDone({ ctx, pageContext }: DeveloperRequest): Sentence | undefined {
  const key = `apps.done.${queryText(ctx, 'done')}`;
  return isDone(key, pageContext) ? sentence(pageContext.text[key]) : undefined;
}

function isDone(key: string, { text }: PageContext): key is `apps.done.${Done}` {
  return Object.hasOwn(text, key);
}

/** The random string of a form that must not be done twice. */
export function onceOf(form: Readonly<Record<string, string>>): string {
  const once = form['once'] ?? '';
  if (/^[\w-]{16,64}$/.test(once)) return once;
  throw new BodyError('The form is incomplete.');
}

type Tab = 'settings' | 'permissions' | 'secrets' | 'activity';

/** What all pages of one app have: its name, the way up, and the ways to the others. */
export function frameOf(
  { home, pageContext: { text } }: DeveloperRequest,
  client: Client,
  here: Tab,
): Tabbed & { heading: Sentence; above: NonNullable<Page['above']> } {
  // A public app has no secrets.
  const tabs: readonly Tab[] = client.confidential
    ? ['settings', 'permissions', 'secrets', 'activity']
    : ['settings', 'permissions', 'activity'];
  return {
    heading: sentence('{client}', { client: client.name }),
    above: { href: home, label: text['page.apps'] },
    isDisabled: client.disabled,
    tabs: tabs.map((tab) => ({
      href: appPath(home, client.id, tab === 'settings' ? '' : tab),
      label: text[`apps.tab.${tab}`],
      isHere: tab === here,
    })),
  };
}
