import type { AppView } from './apps/views.ts';
import type { Moment } from './language.ts';
import type { Link } from './navigation.ts';
import type { Sentence } from './sentence.ts';
import type { Language, Texts } from './text.ts';

/** Something that a person has to mend in a form. */
export interface Problem {
  /** The id of the field; absent when it is about the form as a whole. */
  readonly field?: string;
  readonly message: string;
}

/** Who is signed in, and where they can go. */
export interface Viewer {
  readonly name: string;
  readonly links: readonly (Link & { readonly current: 'page' | 'true' | undefined })[];
  readonly signOut: Link;
}

/** What each view shows below the heading. */
export type View =
  | { readonly view: 'login'; readonly action: string; readonly login: string; readonly refused: boolean }
  | {
      readonly view: 'consent';
      readonly action: string;
      /** What the app would be able to do, in words. */
      readonly scopes: readonly string[];
      /** `false`: all that the person can. With `true` and no scopes, nothing. */
      readonly limited: boolean;
      readonly user: string | undefined;
      readonly canSwitchUser: boolean;
      /** The origin, or the scheme, that the person is sent to. */
      readonly destination: string;
    }
  | { readonly view: 'logout'; readonly action: string }
  | {
      readonly view: 'notice';
      readonly details: readonly Detail[];
      /** Opens in another tab, beside the page. */
      readonly beside?: Link;
    }
  /** Asks whether something is really meant. */
  | { readonly view: 'confirm'; readonly action: string; readonly button: string; readonly cancel: Link }
  | AppView
  | AuthorizedAppsView;

/** What the views of the connected apps show below the heading. */
export interface AuthorizedAppsView {
  readonly view: 'authorized-apps/list';
  readonly authorizedApps: readonly AuthorizedAppRow[];
}

/** An app that the person has authorized. */
export interface AuthorizedAppRow {
  readonly name: string;
  /** What it may do, in words. */
  readonly scopes: readonly string[];
  /** `false`: everything that the person may do. With `true` and no scopes, nothing. */
  readonly limited: boolean;
  readonly since: Moment;
  readonly lastUsed: Moment | undefined;
  readonly isDisabled: boolean;
  readonly disconnect: string;
}

/** Something small below a notice, for whoever looks into it. */
export interface Detail {
  readonly label: string;
  readonly value: string;
  /** The language of the value, when it is not the page's. */
  readonly language?: string | undefined;
}

/** One page, as the steps of the pages ask for it. */
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

/**
 * The name of a view.
 *
 * @useDeclaredType
 */
export type ViewName = View['view'];

/** What is on every page, whichever view it has. */
export interface PageFrame {
  readonly language: Language;
  /** Every sentence of the pages, in this language. */
  readonly text: Texts;
  /** The brand's name. */
  readonly brand: string;
  /** URL of the brand's logo. */
  readonly logo: string;
  /** Whether the logo is the bundled mark, which needs the brand's name beside it. */
  readonly logoIsMark: boolean;
  readonly terms: string | undefined;
  readonly privacy: string | undefined;
  /** URLs, in the order that they apply. */
  readonly stylesheets: readonly string[];
  /** URLs of scripts of this server that make the page handier. Others do not run. */
  readonly scripts: readonly string[];
  /** The heading as plain text, with a word in front when there are problems. */
  readonly title: string;
  readonly heading: Sentence;
  /** Below the heading; empty when there is nothing to say. */
  readonly lead: Sentence;
  /** What has to be mended; empty when nothing. */
  readonly problems: readonly Problem[];
  /** What has just been done. */
  readonly done: Sentence | undefined;
  /** Who is signed in, and where they can go. */
  readonly viewer: Viewer | undefined;
  readonly wide: boolean;
  readonly above: Link | undefined;
  /** The HTML of a part that views have in common, such as `page.part('problem', { field: 'name' })`. */
  readonly part: (name: string, own: object) => string;
}

/** What a view is given, as `page`: its own data, and what is on every page. */
export type PageData<V extends ViewName = ViewName> = PageFrame & Extract<View, { readonly view: V }>;

/** What the layout is given: the view's data, and its HTML. */
export type LayoutData = PageData & {
  /** The HTML of the view. */
  readonly body: string;
};
