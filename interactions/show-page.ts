import type { Context } from 'koa';
import { setPageHeaders } from '../lib/http/headers.ts';
import type { Page, PageData, PageFrame } from './page.ts';
import { plain } from './sentence.ts';
import type { Views } from './views.ts';

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
export type ShowPage = (ctx: Context, page: Page) => void;

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
