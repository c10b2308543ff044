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
  readonly logout: Link;
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
      /** Who has registered the app. */
      readonly registered: string;
      /** How users withdraw the access, when it ends without that, and why they may be asked again. */
      readonly notes: readonly Sentence[];
      /** The name of the API that the app asks for; `undefined` for the default one. */
      readonly resource: string | undefined;
      readonly user: string | undefined;
      readonly canSwitchUser: boolean;
      /** The origin, or the private-use scheme, of the redirect URI. */
      readonly destination: string;
    })
  | {
      readonly view: 'logout';
      readonly action: string;
      /** Where the browser is sent then, when an app asks for the logout. */
      readonly destination: string | undefined;
      /** For a user who does not want to log out. */
      readonly stay: Link;
    }
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
  | AuthorizedAppsView
  | SessionsView;

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
  /**
   * The scopes that the app asks for and that the user cannot decline one by one. `undefined`: it may do all that the user may. With an
   * empty list, and no other scopes, nothing.
   */
  readonly scopes: readonly ScopeLine[] | undefined;
  /** Without scopes: the labels of what the user may do now, and such as "7 more", to open the others with. Else empty. */
  readonly permissions: {
    readonly first: readonly string[];
    readonly others: readonly string[];
    readonly more: Sentence;
  };
  /** The scopes that the user can decline: check boxes of the form with the id `authorize`. */
  readonly optional: readonly ScopeChoice[];
  /** The labels of the requested scopes that the user has consented to before. The app asks for the others only. */
  readonly consented: readonly string[];
  /** Three answers, of which the last one is the check boxes; `undefined`: there are only these. */
  readonly answers: AccessAnswers | undefined;
}

/** A scope, as pages show it. */
export interface ScopeLine {
  readonly label: string;
  /** The titles of the tools that it gives. */
  readonly tools: readonly string[];
  /** Such as "3 tools", to open many tools with; empty where they fit on a line. */
  readonly manyTools: Sentence;
  /** Whether it changes nothing. */
  readonly looks: boolean;
}

/** A check box for a scope. */
export interface ScopeChoice extends ScopeLine {
  /** The name and the id of the field. */
  readonly field: string;
  /** The value of the field: the name of the scope. */
  readonly name: string;
  readonly checked: boolean;
}

/** The values of the field `access`, with which the user lets an agent only look, or do all that it asks for. */
export interface AccessAnswers {
  readonly look: string;
  readonly all: string;
  /** Whether "All" is chosen at first, and not nothing. */
  readonly startsWithAll: boolean;
}

/** The data of the list of authorized apps. */
export interface AuthorizedAppsView {
  readonly view: 'authorized-apps/list';
  /** URL of the list. */
  readonly home: string;
  /** What the user searches for; `undefined`: the apps are too few for a search. */
  readonly search: string | undefined;
  readonly isFirst: boolean;
  /** URLs of the first and of the next page. */
  readonly first: string;
  readonly next: string | undefined;
  readonly authorizedApps: readonly AuthorizedAppRow[];
}

/** An app that the user has authorized. */
export interface AuthorizedAppRow {
  readonly name: string;
  /** The first letter of the name, in the place of a logo. */
  readonly initial: string;
  readonly about: AboutApp | undefined;
  /** What it can do: first who the user is and the default API, without a name, then each other API. */
  readonly access: readonly { readonly name: string; readonly labels: readonly string[] }[];
  /** What it can do in one sentence; `undefined` when `access` says it. */
  readonly only: string | undefined;
  /** "Allowed by …"; `undefined`: by the user alone. */
  readonly allowedBy: Sentence | undefined;
  readonly since: Moment;
  /** `undefined` when nothing is known of a use. */
  readonly lastUsed: Moment | undefined;
  /** The tools that it has called lately, the last one first. */
  readonly tools: {
    readonly recent: readonly UsedTool[];
    readonly others: readonly UsedTool[];
    /** Such as "7 more", to open the others with; empty when there are none. */
    readonly more: Sentence;
  };
  readonly grants: Grants;
  /** What features know of it. */
  readonly facts: readonly Sentence[];
  readonly disabled: boolean;
  readonly revoke: string;
}

export interface UsedTool {
  readonly name: string;
  readonly lastUsed: Moment;
}

/** The grants of an app, the last used ones first. */
export interface Grants {
  /** Such as "3 connections". */
  readonly heading: Sentence;
  readonly recent: readonly GrantRow[];
  readonly others: readonly GrantRow[];
  /** Such as "7 more", to open the others with; empty when there are none. */
  readonly more: Sentence;
}

/** A grant of an authorized app: one machine or browser. */
export interface GrantRow {
  /** Such as "Windows, 203.0.113.7". */
  readonly place: string;
  readonly since: Moment;
  readonly lastUsed: Moment | undefined;
  /** URL of the page that asks for confirmation before the grant is revoked. */
  readonly revoke: string;
}

/** The data of the list of login sessions. */
export interface SessionsView {
  readonly view: 'sessions/list';
  readonly sessions: readonly {
    /** As in {@link GrantRow}. */
    readonly place: string;
    /** Whether it is that of this browser. */
    readonly current: boolean;
    readonly since: Moment;
    readonly lastUsed: Moment;
    /** URL to post to, to end it. */
    readonly end: string;
  }[];
  /** URL to post to, to end all but that of this browser; `undefined` when there are no others. */
  readonly endOthers: string | undefined;
}

/** A detail in small print below a notice, such as an error code. */
export interface Detail {
  readonly label: string;
  readonly value: string;
  /** The language of the value, when it is not the page's. */
  readonly language?: string | undefined;
}

/** The data of a view of a feature: what the function that shows it gives it. */
export interface FeatureView {
  readonly view: `${string}/${string}`;
  readonly [name: string]: unknown;
}

/** A page as it is shown. Login and consent pages have no `viewer`; the other members default to nothing. */
export type Page<V extends View | FeatureView = View> = V &
  Pick<PageFrame, 'heading'> &
  Partial<Pick<PageFrame, 'lead' | 'problems' | 'viewer' | 'wide' | 'above' | 'done'>> & {
    /** @default 200 */
    readonly status?: number;
    /** See `PagePolicy` in lib/http/headers.ts. @default true */
    readonly formsStayHere?: boolean;
    /** Names of scripts of `interactions/public`. The page works without them. */
    readonly scripts?: readonly string[];
  };

export type FeaturePage = Page<View | FeatureView>;

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
  readonly neutralLogo: boolean;
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
  /** Says the time zone, where the page has a date without a time of day. */
  readonly zone: string | undefined;
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
