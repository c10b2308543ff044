import type { GuardedForm } from '../access/authenticator.ts';
import type { ClientKind, FirstCall } from '../contracts/client-kinds.ts';
import type { ClientSource } from '../contracts/client-sources.ts';
import type { ImportConsents } from '../clients/consents.ts';
import type { ClientSourceHooks } from '../clients/sources.ts';
import type {
  AccessTokenClaims,
  AllowedApp,
  BundledPages,
  Client,
  FurtherField,
  Seconds,
  Storage,
} from '../contracts/index.ts';
import type { EnginePart, GrantType } from '../engine/part.ts';
import type { FindForeignRefreshToken } from '../engine/request.ts';
import type { EndpointRow } from '../engine/endpoint-paths.ts';
import type { LogoutPageParts } from '../login/logout-page.ts';
import type { Findings } from '../findings/finding.ts';
import type { AnyFeature } from '../options/features.ts';
import type { EventRule } from '../record/event-rules.ts';
import type { AddToResponse, GrantParts } from '../token/exchange.ts';
import type { ForeignAccessTokens } from '../token/foreign-tokens.ts';
import type { AdministrationCore, Core, CoreBase } from './core.ts';
import type { TokenForm } from './tokens.ts';

/**
 * A capability of the server: everything about it is in one folder, and one value switches it on.
 *
 * Whatever must be known without a server, or while the feature is off, is data of the value; `install` makes the rest. Its tables are
 * listed in `tables.ts`, because every storage has them, and its commands in `shipped.ts`.
 *
 * `Api`: the members that the feature adds to the server, such as `{ readonly devices: DeviceFlow }`
 */
export interface Feature<Api extends object = object> extends AnyFeature {
  /** The name of the feature in errors, such as `name({ lifetime })`. A server has at most one feature of each name. */
  readonly name: string;
  /** The kinds of clients that the feature adds. */
  readonly clientKinds?: readonly ClientKind[];
  /** The grant types that clients of kinds of the core, or of other features, can use by the feature besides, by the name of the kind. */
  readonly grantTypesOfKinds?: Readonly<Record<string, readonly string[]>>;
  /** How clients of a kind get a token with the feature, where that differs. @param client - `undefined`: any client of the kind */
  readonly firstCall?: (kind: string, client: Client | undefined) => FirstCall | undefined;
  /** The sources of clients that nobody has registered. */
  readonly clientSources?: readonly ClientSource[];
  /** The fields of clients that the feature adds. */
  readonly clientFields?: readonly FurtherField[];
  /** The types of the audit events that the feature records. */
  readonly events?: Readonly<Record<string, EventRule>>;
  /** How the guards of a server without the feature refuse its tokens, so that their holders learn the reason. */
  readonly tokensOff?: GuardedForm;
  /** For how long values that the feature derives from the cookie keys, such as the ids of codes, have to be recognized. @default 0 */
  readonly keysFor?: Seconds;
  /** Returns the feature's members of the export of a user. Its tables say what an erasure deletes. */
  readonly exportUser?: (storage: Storage, userId: string) => Promise<object>;
  /** Finds out over the network what is wrong with a server for this feature, also without the server's configuration. */
  readonly examine?: (issuer: string) => Findings;
  /** Deletes unused clients of the feature's sources. */
  readonly prune?: PruneClients;
  /** Makes the members that the feature adds to an administration. */
  readonly administer?: (core: AdministrationCore) => Promise<Api>;
  /**
   * Makes the parts that the server's tokens and its directory of clients need. Called once for each server, before these are made.
   *
   * @throws ConfigError for what does not fit the options of the server
   */
  readonly open?: (base: CoreBase) => Promise<Opened>;
  /**
   * Makes the parts of the feature. Called once for each server, before the server takes requests.
   *
   * @throws ConfigError for what does not fit the options of the server
   */
  readonly install: (core: Core) => Installed<Api> | Promise<Installed<Api>>;
}

/**
 * Deletes unused clients of a storage.
 *
 * @param limit - the largest number of clients that one call looks at
 * @returns the deleted clients, and the number of clients that it has looked at: repeat the call until that is 0
 */
export type PruneClients = (
  storage: Storage,
  at: Seconds,
  limit: number,
) => Promise<{ readonly deleted: readonly Pick<Client, 'id' | 'name'>[]; readonly seen: number }>;

/** The parts of a feature with which the core of a server is made. A feature leaves out the parts that it does not have. */
export interface Opened extends Work {
  /** What the feature's sources of clients do on this server. */
  readonly clientSources?: readonly ClientSourceHooks[];
  /**
   * Whether the feature stands for a verified access token of this server that was issued for an assertion (`AccessTokenContent.assertedBy`).
   * A token for which no feature does is refused wherever tokens are accepted, also once the feature is off.
   */
  readonly accepts?: (claims: AccessTokenClaims) => boolean;
  /** The access tokens of another server, which count as the server's own. */
  readonly accessTokens?: ForeignAccessTokens;
  /** Finds the refresh tokens of another server, which are exchanged here for tokens of this server. */
  readonly findRefreshToken?: FindForeignRefreshToken;
  /** Stores the consents that users have given elsewhere. */
  readonly importConsents?: ImportConsents;
}

/** What a feature does besides requests. */
interface Work {
  /** Finds out what is wrong with the feature on this server. */
  readonly check?: () => Findings;
  /** Runs until it is stopped, and resolves then. @param stop - aborted by `auth.close()` */
  readonly run?: (stop: AbortSignal) => Promise<void>;
}

/** The parts of a feature that are made on the core of a server. A feature leaves out the parts that it does not have. */
export interface Installed<Api extends object = object> extends Work {
  /** The members that the feature adds to the server. */
  readonly api?: Api;
  /** The models and settings that the feature adds to the engine. */
  readonly engine?: EnginePart;
  /** The grants that the feature adds to the token endpoint. */
  readonly grantTypes?: (parts: GrantParts) => readonly GrantType[];
  /** The members that the feature adds to the response with the tokens of a user. */
  readonly addToResponse?: AddToResponse;
  /** The rows that the feature adds to the table of endpoints, before those of the core. Their paths are below the mount path. */
  readonly endpoints?: readonly EndpointRow[];
  /** The members that the feature adds to the server's metadata (RFC 8414). @param announced - the members of the engine */
  readonly metadata?: (announced: Readonly<Record<string, unknown>>) => object;
  /**
   * The pages that the feature adds to the bundled ones. They are imported on demand, so that a server with pages of its own loads none.
   */
  readonly pages?: () => Promise<BundledPages>;
  /** Reads what an app asks for at `/oauth/logout`. */
  readonly logoutRequest?: NonNullable<LogoutPageParts['logoutRequest']>;
  /** A form of tokens other than the server's own, at the guards and at the endpoints for clients. */
  readonly tokens?: TokenForm;
  /**
   * The apps that somebody else than the user lets act for the user. They are listed with those that the user has authorized, each app
   * once. What such an app does needs a grant of the core, by which the user ends it as any other.
   */
  readonly allowed?: (userId: string) => Promise<readonly AllowedApp[]>;
  /** What acts for users by this feature, for `auth.userGrants`. */
  readonly grants?: UserGrantKind;
}

/** One kind of grants by which something acts for users. */
export interface UserGrantKind {
  /** The name of the member of `userGrants.list()`, such as `personalTokens`. */
  readonly list: string;
  /** The name of the target of `userGrants.revoke()`, such as `personalTokenId`. */
  readonly target: string;
  readonly of: (userId: string) => Promise<readonly { readonly id: string }[]>;
  readonly end: (id: string) => Promise<boolean>;
}

/** The members that features add to a server. */
export type Added<F extends readonly AnyFeature[]> = F extends readonly []
  ? unknown
  : UnionToIntersection<F[number] extends infer One ? (One extends Feature<infer Api> ? Api : never) : never>;

type UnionToIntersection<T> = (T extends unknown ? (value: T) => void : never) extends (
  value: infer I,
) => void
  ? I
  : never;
