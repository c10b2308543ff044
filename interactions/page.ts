import type { Moment } from './language.ts';
import type { Link } from './navigation.ts';
import type { Sentence } from './sentence.ts';
import type { Language, Texts } from './text.ts';

/** A mistake in a form, for the user to correct. */
export interface FieldProblem {
  /** The id of the field; absent when it is about the form as a whole. */
  readonly field?: string;
  readonly message: string;
}

/** The signed-in user, as the header of a page shows them, with their links. */
export interface Viewer {
  readonly name: string;
  readonly links: readonly (Link & { readonly current: 'page' | 'true' | undefined })[];
  readonly signOut: Link;
}

/** The data of each view, which it shows below the heading. */
export type View =
  | {
      readonly view: 'login';
      readonly action: string;
      readonly login: string;
      readonly refused: boolean;
      /** Where the browser is sent, when an app asks for the login. */
      readonly destination: string | undefined;
    }
  | (Access & {
      readonly view: 'consent';
      readonly action: string;
      readonly about: AboutApp | undefined;
      /** For an app that nobody registered: what the user has to know first. */
      readonly warnings: readonly Sentence[];
      /** The name of the API that the app asks for; `undefined` for the default one. */
      readonly resource: string | undefined;
      readonly user: string | undefined;
      readonly canSwitchUser: boolean;
      /** The origin, or the private-use scheme, of the redirect URI. */
      readonly destination: string;
    })
  /** `destination`: where the browser is sent then, when an app asks for the logout. */
  | { readonly view: 'logout'; readonly action: string; readonly destination: string | undefined }
  /** The form that posts an authorization response to an app. */
  | {
      readonly view: 'post';
      readonly action: string;
      readonly fields: readonly (readonly [name: string, value: string])[];
      readonly button: string;
    }
  | {
      readonly view: 'notice';
      readonly details: readonly Detail[];
      /** Where the user can go from here. */
      readonly next?: readonly Link[];
      /** A link that opens in another tab. */
      readonly beside?: Link;
    }
  /** Asks for confirmation of an action. */
  | { readonly view: 'confirm'; readonly action: string; readonly button: string; readonly cancel: Link }
  | AuthorizedAppsView;

/** The homepage and the logo of an app, as the part `about-app` shows them. */
export interface AboutApp {
  /** URL of the logo, on this server. */
  readonly logo: string | undefined;
  /** The host of the homepage, in ASCII. */
  readonly host: string | undefined;
  /** URL of the homepage; `undefined` when there is none, or the platform does not vouch for it. */
  readonly homepage: string | undefined;
  /** Whether the platform has verified them, in words. */
  readonly whoseWord: string;
}

/** The access that an app asks for, as the part `access` shows it. */
export interface Access {
  /** The labels of the scopes that the app asks for and that the user cannot decline one by one. */
  readonly scopes: readonly string[];
  /** The scopes that the user can decline: check boxes of the form with the id `authorize`. */
  readonly optional: readonly ScopeChoice[];
  /** The labels of the requested scopes that the user has consented to before. The app asks for the others only. */
  readonly consented: readonly string[];
  /** Whether the scopes limit the app. `false`: it may do all that the user may. With `true` and no scopes, nothing. */
  readonly limited: boolean;
}

/** A check box for a scope. */
export interface ScopeChoice {
  /** The name and the id of the field. */
  readonly field: string;
  /** The value of the field: the name of the scope. */
  readonly name: string;
  readonly label: string;
  readonly isChecked: boolean;
}

/** The data of the list of authorized apps. */
export interface AuthorizedAppsView {
  readonly view: 'authorized-apps/list';
  readonly authorizedApps: readonly AuthorizedAppRow[];
}

/** An app that the user has authorized. */
export interface AuthorizedAppRow {
  readonly name: string;
  readonly about: AboutApp | undefined;
  /** The labels of its scopes. */
  readonly scopes: readonly string[];
  /** Whether the scopes limit the app. `false`: it may do everything that the user may. With `true` and no scopes, nothing. */
  readonly limited: boolean;
  /** The same for each API besides the default. An app that has no `scopes` may still have some here. */
  readonly resources: readonly {
    readonly name: string;
    readonly scopes: readonly string[];
    readonly limited: boolean;
  }[];
  readonly since: Moment;
  readonly lastUsed: Moment | undefined;
  /** The tools that it has called lately, the last one first. */
  readonly tools: readonly { readonly name: string; readonly lastUsed: Moment }[];
  readonly connections: Connections;
  /** What features know of it. */
  readonly facts: readonly Sentence[];
  readonly isDisabled: boolean;
  readonly disconnect: string;
}

/** The connections of an app, the last used ones first. */
export interface Connections {
  /** Such as "3 connections". */
  readonly heading: Sentence;
  readonly recent: readonly ConnectionRow[];
  readonly others: readonly ConnectionRow[];
  /** Such as "7 more", to open the others with; empty when there are none. */
  readonly more: Sentence;
}

/** A connection of an authorized app: one machine or browser. */
export interface ConnectionRow {
  /** Such as "Windows, 203.0.113.7". */
  readonly place: string;
  readonly since: Moment;
  readonly lastUsed: Moment | undefined;
  /** URL of the page that asks for confirmation before the connection is ended. */
  readonly end: string;
}

/** A detail in small print below a notice, such as an error code. */
export interface Detail {
  readonly label: string;
  readonly value: string;
  /** The language of the value, when it is not the page's. */
  readonly language?: string | undefined;
}

/** The data of a view of a feature. */
export interface FeatureView {
  readonly view: `${string}/${string}`;
}

/** A page as the steps describe it. Login and consent pages have no `viewer`; the other members default to nothing. */
export type Page<V extends FeatureView = never> = (View | V) &
  Pick<PageFrame, 'heading'> &
  Partial<Pick<PageFrame, 'lead' | 'problems' | 'viewer' | 'wide' | 'above' | 'done'>> & {
    /** @default 200 */
    readonly status?: number;
    /** See `PagePolicy` in lib/http/headers.ts. @default true */
    readonly formsStayHere?: boolean;
    /** Names of scripts of `interactions/public`. The page works without them. */
    readonly scripts?: readonly string[];
  };

/**
 * The name of a view.
 *
 * @useDeclaredType
 */
export type ViewName = View['view'];

/** The data that every page has, whichever view it shows. */
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
  /** URLs of the stylesheets, in the order of the links. */
  readonly stylesheets: readonly string[];
  /** URLs of the page's scripts, all on this server. The Content-Security-Policy allows no others. */
  readonly scripts: readonly string[];
  /** The heading as plain text, with a prefix such as "Error:" when there are problems. */
  readonly title: string;
  readonly heading: Sentence;
  /** The sentence below the heading; may be empty. */
  readonly lead: Sentence;
  /** The mistakes in the posted form; empty when there are none. */
  readonly problems: readonly FieldProblem[];
  /** A confirmation of the last action. */
  readonly done: Sentence | undefined;
  /** The signed-in user and their links. */
  readonly viewer: Viewer | undefined;
  /** Whether the page needs more room than a card. */
  readonly wide: boolean;
  /** A link to the parent page. */
  readonly above: Link | undefined;
  /** The HTML of a part that several views use, such as `page.part('problem', { field: 'name' })`. */
  readonly part: (name: string, own: object) => string;
}

/** The data that a view receives as `page`: its own, and that of every page. */
export type PageData<V extends ViewName = ViewName> = PageFrame & Extract<View, { readonly view: V }>;

/** The data that the layout receives: the view's data, and its HTML. */
export type LayoutData = PageData & {
  /** The HTML of the view. */
  readonly body: string;
};
