import type { FurtherConnect } from '../../../../interactions/feature-pages.ts';
import type { Example } from '../../../first-call/first-call.ts';
import type { Moment } from '../../../../interactions/language.ts';
import type { Link } from '../../../../interactions/navigation.ts';
import type { Sentence } from '../../../../interactions/sentence.ts';

/**
 * The data of the views of the developer area. `action`, `enable`, `revoke`, `disable` and `delete` are the URLs of forms or of
 * pages with forms, `once` and `version` are hidden fields of forms, and the other URLs are those of links.
 */
export type AppView =
  | {
      readonly view: 'apps/list';
      readonly apps: readonly AppRow[];
      readonly newApp: string;
      readonly home: string;
      readonly search: string;
      readonly isFirst: boolean;
      readonly first: string;
      readonly next: string | undefined;
    }
  | {
      readonly view: 'apps/new';
      readonly action: string;
      readonly once: string;
      /** The kinds of clients to choose from: their grant types. */
      readonly kinds: readonly string[];
      readonly form: AppForm;
      readonly mayBeFirstParty: boolean;
      readonly cancel: string;
    }
  | {
      readonly view: 'apps/created';
      readonly clientId: string;
      readonly secret: string;
      readonly connect: Connect;
      readonly next: readonly Link[];
    }
  | (Tabbed & {
      readonly view: 'apps/settings';
      readonly action: string;
      readonly version: string;
      readonly form: AppForm;
      readonly mayBeFirstParty: boolean;
      /** Whether the user may mark the app as verified. */
      readonly mayVerify: boolean;
      /** Whether somebody has registered the app, so that it has a homepage. */
      readonly isManual: boolean;
      /** The form of the logo; `undefined` for an app that has none, because no user sees it. */
      readonly logoForm:
        | {
            readonly action: string;
            /** URL of the logo. */
            readonly logo: string | undefined;
          }
        | undefined;
      /** Why the app cannot be changed here; `undefined` when it can. */
      readonly fixed: string | undefined;
      readonly hasPeople: boolean;
      /** Whether the app may change between browser and device. */
      readonly hasPlace: boolean;
      /** The fields that features bring. */
      readonly further: readonly {
        readonly field: string;
        readonly label: string;
        readonly hint: string;
        readonly isList: boolean;
      }[];
      readonly facts: readonly { readonly label: string; readonly value: string }[];
      readonly clientId: string;
      readonly usage: Usage | undefined;
      readonly connect: Connect;
      readonly isDisabled: boolean;
      /** URL of the form that enables the app again; `undefined` when the developer may not. */
      readonly enable: string | undefined;
      /** URL of the page that asks for confirmation before all tokens of the app are revoked. */
      readonly revoke: string;
      readonly disable: string;
      /** `undefined` when the app cannot be deleted while it is disabled. */
      readonly delete: string | undefined;
      /** Why it cannot be deleted while it is disabled. */
      readonly returns: string | undefined;
    })
  | (Tabbed & {
      readonly view: 'apps/permissions';
      readonly action: string;
      readonly version: string;
      readonly roles: readonly Choice[];
      readonly permissions: readonly Choice[];
      readonly scopes: readonly Choice[];
      /**
       * For an app that acts for itself and has an owner: its effective permissions, and those without effect because the owner
       * does not have them. `undefined` for other apps, whose checked permissions are the effective ones.
       */
      readonly effect:
        | { readonly permissions: readonly string[]; readonly without: readonly string[] }
        | undefined;
      /** For an app that users authorize: whether it may ask for every scope. */
      readonly everyScope: boolean;
      readonly hasPeople: boolean;
    })
  | (Tabbed & {
      readonly view: 'apps/secrets';
      readonly action: string;
      readonly once: string;
      readonly isConfidential: boolean;
      readonly hasKeys: boolean;
      readonly secrets: readonly SecretRow[];
      readonly form: { readonly label: string; readonly expires: string };
      readonly lives: readonly { readonly value: string; readonly label: string }[];
    })
  | (Tabbed & {
      readonly view: 'apps/keys';
      readonly action: string;
      readonly version: string;
      readonly form: KeyForm;
      /** Whether the server accepts keys of clients; otherwise there is no form. */
      readonly isAccepted: boolean;
      readonly keys: readonly KeyRow[];
      /** The URL that the keys are read from. */
      readonly jwksUri: string | undefined;
      /** URL of the page of its secrets, when it has keys and secrets. */
      readonly secrets: string | undefined;
      /** URL of the page that asks for confirmation before the keys are removed; `undefined` when there are none. */
      readonly remove: string | undefined;
    })
  | { readonly view: 'apps/new-secret'; readonly secret: string; readonly back: Link }
  | (Tabbed & {
      readonly view: 'apps/activity';
      /** URL of the page without a filter, to which the form of the filter is sent by GET. */
      readonly action: string;
      /** The kinds of events to choose from. */
      readonly kinds: readonly { readonly value: string; readonly label: string }[];
      readonly kind: string;
      /** The user whose events alone are shown, and the URL of the page with those of all. */
      readonly user: { readonly id: string; readonly name: string; readonly all: string } | undefined;
      readonly records: readonly ActivityRow[];
      /** What the page says when there are no records. */
      readonly none: string;
      readonly isFirst: boolean;
      readonly first: string;
      readonly next: string | undefined;
    });

/** The tabs of the pages of an app. */
export interface Tabbed {
  readonly tabs: readonly (Link & { readonly isHere: boolean })[];
  readonly isDisabled: boolean;
}

/** An app in the list. */
export interface AppRow {
  readonly href: string;
  readonly name: string;
  readonly kind: string;
  readonly created: Moment;
  /** How it became known, unless somebody registered it. */
  readonly source: string | undefined;
  readonly isDisabled: boolean;
  /** Whether the app is the administrator's own; `false` for a developer, who sees no other apps. */
  readonly isOwn: boolean;
}

/** The place where an app runs that users authorize. */
export type AppPlace = 'server' | 'browser' | 'device';

/** The fields of the form of an app. */
export interface AppForm {
  readonly name: string;
  /** `undefined`: a form without this field was posted. */
  readonly clientUri: string | undefined;
  readonly verified: boolean;
  readonly grantType: string;
  readonly place: AppPlace | '';
  readonly redirectUris: string;
  /** The fields that features bring. `undefined`: the form has no such field. */
  readonly further: Readonly<Record<string, string | undefined>>;
  readonly firstParty: boolean;
}

/** The URLs that a developer needs to connect an app, and how it gets a token and makes a first call. */
export interface Connect {
  /** Where it begins, with the name of that URL; `undefined` for an app that begins at the token endpoint. */
  readonly endpoint: { readonly label: string; readonly url: string } | undefined;
  readonly tokenUrl: string;
  readonly examples: readonly Example[];
  /** Of features. */
  readonly further: readonly FurtherConnect[];
}

/** A checkbox. */
export interface Choice {
  readonly field: string;
  readonly name: string;
  readonly label: string;
  readonly details: readonly string[];
  readonly isChecked: boolean;
  /** Whether the developer can change it. */
  readonly isOpen: boolean;
}

/** A secret of an app, without its value. */
export interface SecretRow {
  readonly label: string;
  /** The last four characters of its value. */
  readonly hint: string;
  readonly created: Moment;
  readonly expires: Moment | undefined;
  readonly isExpired: boolean;
  readonly lastUsed: Moment | undefined;
  readonly delete: string;
}

/** The fields of the form of an app's keys. */
export interface KeyForm {
  readonly jwks: string;
  readonly jwksUri: string;
}

/** A public key of an app. */
export interface KeyRow {
  /** Such as `P-256, ES256`. */
  readonly kind: string;
  /** Its `kid`. */
  readonly id: string | undefined;
  /** RFC 7638, SHA-256. */
  readonly thumbprint: string;
}

/** An audit record of an app. */
export interface ActivityRow {
  readonly at: Moment;
  readonly what: Sentence;
  readonly isRefused: boolean;
  /** The most important details, without labels: an error code, a person. */
  readonly brief: readonly string[];
  readonly details: readonly { readonly label: string; readonly value: string }[];
  /** URL of the page with the events of this user alone. */
  readonly ofUser: string | undefined;
}

/** The last days of an app. */
export interface Usage {
  /** Such as "The last 30 days". */
  readonly heading: Sentence;
  readonly charts: readonly Chart[];
  /** The days on which something happened. */
  readonly rows: readonly UsageRow[];
  /** Why there are fewer days or events; may be empty. */
  readonly note: Sentence;
}

/** Bars, one for each day. */
export interface Chart {
  readonly kind: 'issued' | 'refused';
  /** Such as "1,204 tokens issued". */
  readonly label: Sentence;
  /** The greatest number of a day, in words; `undefined` when all are 0. */
  readonly most: Sentence | undefined;
  /** The heights, 0 to 1. */
  readonly bars: readonly number[];
}

/** The numbers of a day. */
export interface UsageRow {
  readonly day: Moment;
  readonly issued: number;
  readonly refused: number;
}
