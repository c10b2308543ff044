import type { Context } from 'koa';
import type { InteractionFlow } from '../lib/contracts/index.ts';
import { setPageHeaders } from '../lib/http/headers.ts';
import { clockIn, countIn } from './language.ts';
import type { Clock, Count } from './language.ts';
import type { Page, PageData, PageFrame } from './page.ts';
import { plain } from './sentence.ts';
import type { Language, Texts } from './text.ts';
import type { Views } from './views.ts';

/** The functions and texts that all pages of a server use, in one language. */
export interface PageContext {
  readonly flow: InteractionFlow;
  readonly show: ShowPage;
  readonly text: Texts;
  readonly count: Count;
  /** The brand's name. */
  readonly brand: string;
  readonly clock: Clock;
  /**
   * The label of a scope, a permission or a role in this language.
   *
   * @param resource - the URL of the scope's API. @default the default API
   */
  readonly nameOf: (kind: 'scope' | 'permission' | 'role', named: Named, resource?: string) => string;
}

/** A scope, permission or role of the host, with a description in the host's own language. */
interface Named {
  readonly name: string;
  readonly description: string;
}

/**
 * The page context in the language of a request.
 *
 * @param uiLocales - the languages of the authorization request. @default `ui_locales` of the request itself
 */
export type PageContextFor = (ctx: Context, uiLocales?: readonly string[]) => PageContext;

/** The page context in one language. */
export function makePageContext(
  language: Language,
  { text, ...parts }: Pick<PageContext, 'flow' | 'show' | 'text' | 'brand'>,
): PageContext {
  return {
    ...parts,
    text,
    count: countIn(language, text),
    clock: clockIn(language),
    nameOf: (kind, { name, description }, resource) =>
      text[`${kind}.${resource === undefined ? name : `${resource} ${name}`}`] ?? description,
  };
}

/** The data that all pages of one language have in common. */
export interface Frame extends Pick<
  PageFrame,
  'language' | 'text' | 'brand' | 'logo' | 'logoIsMark' | 'terms' | 'privacy'
> {
  /** URLs of the stylesheets of a page. */
  readonly stylesheetsOf: (page: { readonly isSignedIn: boolean }) => readonly string[];
  /** The whole URL of a script. */
  readonly scriptUrl: (name: string) => string;
  /** Origins of images besides this server: the one of the logo. */
  readonly imageOrigins: readonly string[];
  /** Whether the language depends on `Accept-Language`. */
  readonly isNegotiated: boolean;
}

/** Answers a request with a page. */
type ShowPage = (ctx: Context, page: Page) => void;

/** Creates the function that renders a page: the view and the layout with the page's own data and the common data. */
export function createShowPage(views: Views, frame: Frame): ShowPage {
  const { imageOrigins, isNegotiated, scriptUrl, stylesheetsOf, ...same } = frame;
  return function showPage(ctx, page) {
    const { formsStayHere, problems = [], status = 200, ...shown } = page;
    const heading = plain(page.heading);
    const scripts = (page.scripts ?? []).map(scriptUrl);
    const data = {
      lead: [],
      done: undefined,
      viewer: undefined,
      wide: false,
      above: undefined,
      ...same,
      ...shown,
      problems,
      scripts,
      stylesheets: stylesheetsOf({ isSignedIn: page.viewer !== undefined }),
      title: problems.length > 0 ? `${same.text['page.errorTitle']} ${heading}` : heading,
      part: (name: string, own: object): string => views.part(name, { ...data, ...own }),
    } as PageData;
    const body = views.layout({ ...data, body: views.view(data) });
    setPageHeaders(ctx, { formsStayHere, imageOrigins, scripts });
    if (isNegotiated) ctx.vary('Accept-Language');
    ctx.status = status;
    ctx.type = 'html';
    ctx.body = body;
  };
}
