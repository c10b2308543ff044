import { readFileSync } from 'node:fs';
import ejs from 'ejs';
import type { TemplateFunction } from 'ejs';
import type { Context } from 'koa';
import { setPageHeaders } from '../lib/http/headers.ts';
import type { AppView } from './apps/views.ts';
import type { ConnectionsView } from './connections/views.ts';
import { plain } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { Texts } from './text.ts';
import type { Viewer } from './viewer.ts';

/** Something that a person has to mend in a form. */
export interface Problem {
  /** The id of the field; absent when it is about the form as a whole. */
  readonly field?: string;
  readonly message: string;
}

/** A link, or a button that looks like one. */
export interface Link {
  readonly href: string;
  readonly label: string;
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
      /** Opens in another tab, beside the page. */
      readonly beside?: Link;
    }
  /** Asks whether something is really meant. */
  | { readonly view: 'confirm'; readonly action: string; readonly button: string; readonly cancel: Link }
  | AppView
  | ConnectionsView;

/** One page. */
export type Page = View & {
  /** @default 200 */
  readonly status?: number;
  readonly heading: Sentence;
  readonly lead?: Sentence;
  readonly problems?: readonly Problem[];
  /** See `PagePolicy` in lib/http/headers.ts. @default true */
  readonly formsStayHere?: boolean;
  /** Who is signed in, for the header; pages of a sign-in have none. */
  readonly viewer?: Viewer | undefined;
  /** Whether the page needs more room than a card. @default false */
  readonly wide?: boolean;
  /** The page above this one. */
  readonly above?: Link;
  /** What has just been done. */
  readonly done?: Sentence | undefined;
  /** Scripts of `interactions/public` that make the page handier; it works without. */
  readonly scripts?: readonly string[];
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
  /** Besides, for pages of people who are signed in. */
  readonly signedInStylesheet: string;
  readonly terms: string | undefined;
  readonly privacy: string | undefined;
  /** Origins that the logo comes from, besides this server. */
  readonly imageOrigins: readonly string[];
  /** The whole URL of a script. */
  readonly scriptUrl: (name: string) => string;
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
    confirm: compileView('confirm'),
    'apps/list': compileView('apps/list'),
    'apps/new': compileView('apps/new'),
    'apps/created': compileView('apps/created'),
    'apps/settings': compileView('apps/settings'),
    'apps/permissions': compileView('apps/permissions'),
    'apps/secrets': compileView('apps/secrets'),
    'apps/new-secret': compileView('apps/new-secret'),
    'apps/activity': compileView('apps/activity'),
    connections: compileView('connections/list'),
  };
  const parts = new Map(PARTS.map((name) => [name, compileView(`parts/${name}`)]));

  return (frame) =>
    function showPage(ctx, page) {
      const { status = 200, problems = [], formsStayHere } = page;
      const heading = plain(page.heading);
      const title = problems.length > 0 ? `${frame.text['page.errorTitle']} ${heading}` : heading;
      const scripts = (page.scripts ?? []).map(frame.scriptUrl);
      const stylesheets = page.viewer ? [...frame.stylesheets, frame.signedInStylesheet] : frame.stylesheets;
      const data = { lead: [], ...frame, ...page, problems, title, scripts, stylesheets, part };
      function part(name: string, own: object): string {
        return parts.get(name)!({ ...data, ...own });
      }
      const html = layout({ ...data, body: views[page.view](data) });
      setPageHeaders(ctx, { formsStayHere, imageOrigins: frame.imageOrigins, scripts });
      ctx.status = status;
      ctx.type = 'html';
      ctx.body = html;
    };
}

/** What several views have in common. A view puts one in with `page.part('problem', { field: 'name' })`. */
const PARTS = [
  'app-name',
  'app-tabs',
  'brand',
  'choice',
  'connect',
  'copy',
  'first-party',
  'pager',
  'places',
  'problem',
  'redirect-uris',
  'sentence',
  'time',
];

function compileView(name: string): TemplateFunction {
  const file = new URL(import.meta.resolve(`#views/${name}.ejs`));
  // Without `with`, a view sees only `page` and its own variables: no name in the data can shadow anything.
  return ejs.compile(readFileSync(file, 'utf8'), {
    _with: false,
    localsName: 'page',
    filename: file.pathname,
  });
}
