import type { Context } from 'koa';
import type { InteractionFlow } from '../lib/contracts/index.ts';
import { setPageHeaders } from '../lib/http/headers.ts';
import { clockIn, countIn } from './language.ts';
import type { Clock, Count } from './language.ts';
import type { Page, PageData, PageFrame } from './page.ts';
import { plain } from './sentence.ts';
import type { Language, Texts } from './text.ts';
import type { Views } from './views.ts';

/** What all pages of one server share, in one language. */
export interface PageContext {
  readonly flow: InteractionFlow;
  readonly show: ShowPage;
  readonly text: Texts;
  readonly count: Count;
  /** The brand's name. */
  readonly brand: string;
  readonly clock: Clock;
  /** What people call a scope, a permission or a role in this language. */
  readonly nameOf: (kind: 'scope' | 'permission' | 'role', named: Named) => string;
}

/** Something that the host named, and described in its own language. */
interface Named {
  readonly name: string;
  readonly description: string;
}

/**
 * The pages in the language of a request.
 *
 * @param uiLocales - what the app of an interaction asked for. @default what the request itself asks for
 */
export type PageContextFor = (ctx: Context, uiLocales?: readonly string[]) => PageContext;

/** The pages in one language. */
export function makePageContext(
  language: Language,
  { text, ...parts }: Pick<PageContext, 'flow' | 'show' | 'text' | 'brand'>,
): PageContext {
  return {
    ...parts,
    text,
    count: countIn(language, text),
    clock: clockIn(language),
    nameOf: (kind, { name, description }) => text[`${kind}.${name}`] ?? description,
  };
}

/** What is the same on every page of one language. */
export interface Frame extends Pick<
  PageFrame,
  'language' | 'text' | 'brand' | 'logo' | 'logoIsMark' | 'terms' | 'privacy'
> {
  /** URLs of the stylesheets of a page. */
  readonly stylesheetsOf: (page: { readonly isSignedIn: boolean }) => readonly string[];
  /** The whole URL of a script. */
  readonly scriptUrl: (name: string) => string;
  /** Origins that the logo comes from, besides this server. */
  readonly imageOrigins: readonly string[];
  /** Whether the browser's languages had a say in this one. */
  readonly isNegotiated: boolean;
}

/** Answers a request with a page. */
type ShowPage = (ctx: Context, page: Page) => void;

/** Fits the views with what is the same on every page. */
export function fitViews(views: Views, frame: Frame): ShowPage {
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
