import type { Moment } from '../language.ts';
import type { Link } from '../navigation.ts';
import type { Sentence } from '../sentence.ts';

/**
 * What the views of the developer area show below the heading. `action` and the like are where forms are sent, `once` and
 * `version` are hidden fields of them, and the other URLs are those of links.
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
      /** Whether the person may change nothing of it, because it is first-party and they are no administrator. */
      readonly isFixed: boolean;
      readonly hasPeople: boolean;
      /** Whether it may move between browser and device. */
      readonly hasPlace: boolean;
      readonly facts: readonly { readonly label: string; readonly value: string }[];
      readonly clientId: string;
      readonly connect: Connect;
      readonly isDisabled: boolean;
      /** Of the form that enables it again; `undefined` when the person may not. */
      readonly enable: string | undefined;
      /** Of the page that asks whether to revoke all its tokens. */
      readonly revoke: string;
      readonly disable: string;
      readonly delete: string;
    })
  | (Tabbed & {
      readonly view: 'apps/permissions';
      readonly action: string;
      readonly version: string;
      readonly roles: readonly Choice[];
      readonly permissions: readonly Choice[];
      readonly scopes: readonly Choice[];
      /**
       * Of an app that acts for itself and has an owner: what it may do at this moment, and what it was given without effect.
       * `undefined` for others, for whom it is what is checked.
       */
      readonly effect:
        | { readonly permissions: readonly string[]; readonly without: readonly string[] }
        | undefined;
      /** Of an app that people sign in to: whether it may ask for every scope. */
      readonly everyScope: boolean;
      readonly hasPeople: boolean;
    })
  | (Tabbed & {
      readonly view: 'apps/secrets';
      readonly action: string;
      readonly once: string;
      readonly isConfidential: boolean;
      readonly secrets: readonly SecretRow[];
      readonly form: { readonly label: string; readonly expires: string };
      readonly lives: readonly { readonly value: string; readonly label: string }[];
    })
  | { readonly view: 'apps/new-secret'; readonly secret: string; readonly back: Link }
  | (Tabbed & {
      readonly view: 'apps/activity';
      readonly records: readonly ActivityRow[];
      readonly isFirst: boolean;
      readonly first: string;
      readonly next: string | undefined;
    });

/** A page of one app. */
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
  readonly isDisabled: boolean;
  /** `true`: an administrator, who sees everybody's, looks at one of their own. */
  readonly isOwn: boolean;
}

/** Where an app runs that people sign in to. */
export type Place = 'server' | 'browser' | 'device';

/** What is typed into the form of an app. */
export interface AppForm {
  readonly name: string;
  readonly grantType: string;
  readonly place: Place | '';
  readonly redirectUris: string;
  readonly firstParty: boolean;
}

/** What a developer needs to connect an app. */
export interface Connect {
  /** `undefined` for an app without people. */
  readonly authorizeUrl: string | undefined;
  readonly tokenUrl: string;
  readonly curl: string;
}

/** A box to check. */
export interface Choice {
  readonly field: string;
  readonly name: string;
  readonly label: string;
  readonly details: readonly string[];
  readonly isChecked: boolean;
  /** `false`: it is shown as it is, and stays so. */
  readonly isOpen: boolean;
}

/** One of an app's secrets. */
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

/** Something that happened at an app. */
export interface ActivityRow {
  readonly at: Moment;
  readonly what: Sentence;
  readonly isRefused: boolean;
  readonly details: readonly { readonly label: string; readonly value: string }[];
}
