import { readFileSync } from 'node:fs';
import ejs from 'ejs';
import type { TemplateFunction } from 'ejs';
import type { Context } from 'koa';
import { setPageHeaders } from '../lib/http/headers.ts';
import { plain } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { Texts } from './text.ts';

/** Something that a person has to mend in a form. */
export interface Problem {
  /** The id of the field. */
  readonly field: string;
  readonly message: string;
}

/** What each view shows below the heading. */
export type View =
  | { readonly view: 'login'; readonly action: string; readonly login: string; readonly refused: boolean }
  | {
      readonly view: 'consent';
      readonly action: string;
      readonly scopes: readonly string[];
      readonly user: string | undefined;
      readonly canSwitchUser: boolean;
      readonly destination: string;
    }
  | { readonly view: 'logout'; readonly action: string }
  | {
      readonly view: 'notice';
      readonly details: readonly { readonly label: string; readonly value: string }[];
    };

/** One page. */
export type Page = View & {
  /** @default 200 */
  readonly status?: number;
  readonly heading: Sentence;
  readonly lead?: Sentence;
  readonly problems?: readonly Problem[];
  /** See `PagePolicy` in lib/http/headers.ts. @default true */
  readonly formsStayHere?: boolean;
};

/** What is the same on every page. */
export interface Frame {
  readonly language: string;
  readonly text: Texts;
  readonly brand: string;
  /** URL of the brand's logo. */
  readonly logo: string;
  /** Whether the logo is the bundled mark, which needs the brand's name beside it. */
  readonly logoIsMark: boolean;
  readonly stylesheets: readonly string[];
  readonly terms: string | undefined;
  readonly privacy: string | undefined;
  /** Origins that the logo comes from, besides this server. */
  readonly imageOrigins: readonly string[];
}

/** Answers a request with a page. */
export type ShowPage = (ctx: Context, page: Page) => void;

/** Compiles the views, once, at start. What it returns fits them with a frame. */
export function compileViews(): (frame: Frame) => ShowPage {
  const layout = compileView('layout');
  const views: Readonly<Record<View['view'], TemplateFunction>> = {
    login: compileView('login'),
    consent: compileView('consent'),
    logout: compileView('logout'),
    notice: compileView('notice'),
  };
  return (frame) =>
    function showPage(ctx, page) {
      const { status = 200, problems = [], formsStayHere } = page;
      const heading = plain(page.heading);
      const title = problems.length > 0 ? `${frame.text['page.errorTitle']} ${heading}` : heading;
      const data = { lead: [], ...frame, ...page, problems, title };
      const html = layout({ ...data, body: views[page.view](data) });
      setPageHeaders(ctx, { formsStayHere, imageOrigins: frame.imageOrigins });
      ctx.status = status;
      ctx.type = 'html';
      ctx.body = html;
    };
}

function compileView(name: string): TemplateFunction {
  const file = new URL(import.meta.resolve(`#views/${name}.ejs`));
  // Without `with`, a view sees only `page` and its own variables: no name in the data can shadow anything.
  return ejs.compile(readFileSync(file, 'utf8'), {
    _with: false,
    localsName: 'page',
    filename: file.pathname,
  });
}
