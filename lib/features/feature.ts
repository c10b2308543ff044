import type { GuardedForm } from '../access/authenticator.ts';
import type { ClientKind } from '../contracts/client-kinds.ts';
import type { ClientSource } from '../contracts/client-sources.ts';
import type { ImportConsents } from '../clients/consents.ts';
import type { ClientSourceHooks } from '../clients/sources.ts';
import type { BundledPages, Client, FurtherField, Seconds, Storage } from '../contracts/index.ts';
import type { EnginePart, GrantType } from '../engine/part.ts';
import type { FindForeignRefreshToken } from '../engine/request.ts';
import type { EndpointRow } from '../engine/places.ts';
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
 * What has to be known without a server, or while the feature is off, is data of the value; the rest is made by `install`. Its tables are
 * listed in `tables.ts`, because every storage has them, and its commands in `shipped.ts`.
 *
 * `Api`: the members that the feature adds to the server, such as `{ readonly devices: DeviceFlow }`
 */
export interface Feature<Api extends object = object> extends AnyFeature {
  /** Names it in errors, such as `name({ lifetime })`. One server has one feature of a name. */
  readonly name: string;
  /** The kinds of clients that there are by it. */
  readonly clientKinds?: readonly ClientKind[];
  /** How clients become known by it that nobody has registered. */
  readonly clientSources?: readonly ClientSource[];
  /** The fields that clients have by it. */
  readonly clientFields?: readonly FurtherField[];
  /** The types of the audit events that it records. */
  readonly events?: Readonly<Record<string, EventRule>>;
  /** What the guards of a server without it say of its tokens, whose holders are told why they are refused. */
  readonly tokensOff?: GuardedForm;
  /** For how long something that it derives from the cookie keys, such as the id of a code, has to be recognized. @default 0 */
  readonly keysFor?: Seconds;
  /** What the export of a user has of it, by the name of the member. Its tables say what an erasure deletes. */
  readonly exportUser?: (storage: Storage, userId: string) => Promise<object>;
  /** Finds out over the network what is wrong with a server for it, also without its configuration. */
  readonly examine?: (issuer: string) => Findings;
  /** Deletes clients of its sources that are unused. */
  readonly prune?: PruneClients;
  /** Makes what it adds to an administration. */
  readonly administer?: (core: AdministrationCore) => Promise<Api>;
  /**
   * Makes what the tokens of a server and its directory of clients are made with. Called once for each server, before there are any.
   *
   * @throws ConfigError for what does not fit the options of the server
   */
  readonly open?: (base: CoreBase) => Promise<Opened>;
  /**
   * Makes its parts. Called once for each server, before the server takes requests.
   *
   * @throws ConfigError for what does not fit the options of the server
   */
  readonly install: (core: Core) => Installed<Api> | Promise<Installed<Api>>;
}

/**
 * Deletes unused clients of a storage.
 *
 * @param limit - the most that one call looks at
 * @returns those that it has deleted, and the number of those that it has looked at: call it again until that is 0
 */
export type PruneClients = (
  storage: Storage,
  at: Seconds,
  limit: number,
) => Promise<{ readonly deleted: readonly Pick<Client, 'id' | 'name'>[]; readonly seen: number }>;

/** The parts of a feature that the core of a server is made with. Each one is left out where the feature has none. */
export interface Opened extends Work {
  /** What its sources of clients do. */
  readonly clientSources?: readonly ClientSourceHooks[];
  /** The access tokens of another server, which are used as the server's own. */
  readonly accessTokens?: ForeignAccessTokens;
  /** Finds the refresh tokens of another server, which are exchanged here for those of this one. */
  readonly findRefreshToken?: FindForeignRefreshToken;
  /** Stores the consents that users have given elsewhere. */
  readonly importConsents?: ImportConsents;
}

/** What a feature does besides requests. */
interface Work {
  /** Finds out what is wrong with it on this server. */
  readonly check?: () => Findings;
  /** Resolves when it has stopped. @param stop - aborted by `auth.close()` */
  readonly run?: (stop: AbortSignal) => Promise<void>;
}

/** The parts of a feature that are made on the core of a server. Each one is left out where the feature has none. */
export interface Installed<Api extends object = object> extends Work {
  /** The members that it adds to the server. */
  readonly api?: Api;
  /** What it adds to the engine: models and settings. */
  readonly engine?: EnginePart;
  /** The grants that it adds to the token endpoint. */
  readonly grantTypes?: (parts: GrantParts) => readonly GrantType[];
  /** What it adds to the response with the tokens of a user. */
  readonly addToResponse?: AddToResponse;
  /** The rows that it adds to the table of endpoints, before those of the core. Their paths are below the mount path. */
  readonly endpoints?: readonly EndpointRow[];
  /** The members that it adds to the server's metadata (RFC 8414). @param announced - those of the engine */
  readonly metadata?: (announced: Readonly<Record<string, unknown>>) => object;
  /** Its pages, for the bundled ones. Imported on demand, so that a server with pages of its own loads none. */
  readonly pages?: () => Promise<BundledPages>;
  /** A form of tokens other than the server's own, at the guards and at the endpoints for clients. */
  readonly tokens?: TokenForm;
  /** What users let act for them by it, for `auth.grants`. */
  readonly grants?: UserGrantKind;
}

/** What users let act for them. */
export interface UserGrantKind {
  /** The name of the member of `grants.list()`, such as `personalTokens`. */
  readonly list: string;
  /** The name of the target of `grants.revoke()`, such as `personalToken`. */
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
