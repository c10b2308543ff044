import type {
  ActivityKind,
  AuditQuery,
  AuditRecord,
  Client,
  ClientChanges,
  ClientFields,
  ClientQuery,
  ClientRegistry,
  FurtherField,
  NewSecret,
  Seconds,
  User,
} from '../../contracts/index.ts';

/**
 * The developer area of one user: the registry of the clients that are the user's apps. Every method checks the owner of the app:
 * another user's app is not found (`ERR_CLIENT_NOT_FOUND`), unless the user administers all apps.
 */
export interface Developer extends Pick<ClientRegistry, 'delete' | 'deleteSecret' | 'disable' | 'secrets'> {
  readonly user: User;
  /** Whether the user sees every app: holds `manage_all_apps`. */
  readonly administrator: boolean;
  /** Whether apps can authenticate with keys: the server's option `clients.privateKeyJwt`. */
  readonly acceptsKeys: boolean;
  /** The fields that features bring to the forms of apps. */
  readonly furtherFields: readonly FurtherField[];
  /** Whether there is a page of activity: the server's option `retention.audit` is not 0. */
  readonly storesEvents: boolean;
  /**
   * Every role of the gate, with the descriptions of its permissions. It is `assignable` when the user holds it and may give it to an
   * app.
   */
  readonly roles: readonly {
    readonly name: string;
    readonly permissions: readonly { readonly name: string; readonly description: string }[];
    readonly assignable: boolean;
  }[];
  /** Every permission of the gate. */
  readonly permissions: readonly {
    readonly name: string;
    readonly description: string;
    readonly assignable: boolean;
  }[];
  /** Every scope that an app may request. */
  readonly scopes: readonly {
    readonly name: string;
    /** With the descriptions of all APIs that have a scope of this name. */
    readonly description: string;
    /** The APIs that have it, the default API, without `resource`, first. None has a scope about who the user is. */
    readonly apis: readonly {
      readonly resource: string | undefined;
      readonly name: string;
      readonly description: string;
      /** Whether a user can decline it. */
      readonly optional: boolean;
    }[];
  }[];
  /** Lists the user's apps by name; for an administrator, all apps. Empty when the app of `after` does not exist. */
  list(query?: Omit<ClientQuery, 'ownerId'>): Promise<readonly Client[]>;
  /** Finds an app by its `client_id`. */
  find(id: string): Promise<Client>;
  /** The owner of an app; `undefined` when it has none, or the user store does not find the owner. */
  owner(client: Client): Promise<User | undefined>;
  /**
   * Registers an app that the user owns: at most 100 apps, without a limit for administrators.
   *
   * @param idempotencyKey - a random string in the form, by which a form that is posted several times registers one app only
   * @returns `undefined` when an earlier post of the form has registered the app, or is about to
   * @throws ValidationError with one entry per mistake, also for roles and permissions that the user may not give, and,
   * except for administrators, for a name that can be mistaken for the platform's own
   */
  create(
    fields: Omit<ClientFields, 'ownerId' | 'lifetimes'>,
    idempotencyKey: string,
  ): Promise<{ client: Client; secret: NewSecret | undefined } | undefined>;
  /**
   * Changes the given fields. Roles and permissions that the app has and that the user may not give stay unchanged. Only an
   * administrator can change the name, the homepage, the redirect URIs and the kind of a first-party app, or add scopes to it, and only
   * an administrator can mark an app as first-party or verified.
   *
   * @param options.ifUpdatedAt - the `updatedAt` of the app that the user saw: nothing is changed when
   * the app has been updated since
   * @throws ValidationError as `create`
   * @throws GatehouseError `ERR_CLIENT_CHANGED` when the app has been changed since `ifUpdatedAt`
   */
  update(
    id: string,
    changes: Omit<ClientChanges, 'ownerId' | 'lifetimes'>,
    options?: { ifUpdatedAt?: Seconds | undefined },
  ): Promise<Client>;
  /**
   * Replaces or removes the logo of an app, which is not verified then: see `ClientRegistry.setLogo`. Only an administrator can replace
   * the logo of a first-party app.
   */
  setLogo(id: string, picture: Uint8Array | undefined): Promise<Client>;
  /** Whether the user may enable an app again: an owner only when the owner has disabled it. */
  canEnable(id: string): Promise<boolean>;
  /**
   * Enables a disabled app.
   * @throws GatehouseError `ERR_PERMISSION_MISSING` when another user, or a program, has disabled it and the user is no administrator
   */
  enable(id: string): Promise<Client>;
  /**
   * Revokes every token of an app for good, its own tokens and those of its users, such as when a secret has leaked. Delete the secret
   * first, because until then the server issues new tokens for it.
   */
  revokeTokens(id: string): Promise<void>;
  /**
   * The effective permissions of an app that acts for itself: the assigned permissions that its owner holds too or, without an owner, all
   * assigned permissions.
   */
  effectivePermissions(client: Client): Promise<ReadonlySet<string>>;
  /**
   * Adds a secret; the existing ones stay valid.
   *
   * @param options.expiresAt - `undefined` when the secret does not expire
   * @param idempotencyKey - as for `create`
   * @returns `undefined` when an earlier post of the form has added the secret, or is about to
   * @throws ValidationError for a public app, a label that is too long, or too many secrets
   */
  addSecret(
    id: string,
    options: { label: string; expiresAt: Seconds | undefined },
    idempotencyKey: string,
  ): Promise<NewSecret | undefined>;
  /**
   * Lists the events of an app, newest first. Only administrators see the addresses of the app's users, and the users who have not given
   * it access.
   */
  activity(id: string, query?: ActivityQuery): Promise<readonly ActivityRecord[]>;
  /** Counts what the app did on each of the last 30 days. `undefined` when audit events are not stored. */
  usage(id: string): Promise<AppUsage | undefined>;
}

/** Selects events of an app, one page, newest first. */
export interface ActivityQuery extends Pick<AuditQuery, 'after' | 'limit' | 'userId'> {
  /** @default all kinds */
  readonly kind?: ActivityKind | undefined;
}

/** An event of an app, with the people in it whom the user store finds. */
export type ActivityRecord = AuditRecord & {
  /** The user of `userId`. */
  readonly user: User | undefined;
  /** The user of `actorId`. */
  readonly actor: User | undefined;
};

/** What an app did lately. */
export interface AppUsage {
  /** Whether the app had so many events that only the newest 20,000 of a type were counted, and earlier days are left out. */
  readonly truncated: boolean;
  /** The last 30 days in UTC, today last: fewer where it is `truncated`, and where events are stored for a shorter time. */
  readonly days: readonly {
    /** When the day begins. */
    readonly at: Seconds;
    /** Tokens issued. */
    readonly issued: number;
    /** Token and authorization requests that were refused. */
    readonly refused: number;
  }[];
}
