import type { BrowserRequestOf, LoginSessions } from '../login/login-session.ts';
import type { GuardedForm } from '../access/authenticator.ts';
import type { UserAssignments } from '../access/principal.ts';
import type {
  AuditLog,
  ClientGrantType,
  Finding,
  Limiter,
  Seconds,
  StoredChange,
  Storage,
} from '../contracts/index.ts';
import type { FeaturePlace } from '../engine/endpoints.ts';
import type { EnginePart } from '../engine/part.ts';
import type { WaitingUse } from '../clients/last-use.ts';
import type { WriteQueue } from '../clients/write-queue.ts';
import type { Engine } from '../engine/provider.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { Limit } from '../limits/limiter.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { EventRule } from '../record/event-rules.ts';
import type { GrantParts } from '../token/exchange.ts';
import type { FeaturePages } from './pages.ts';
import type { TokenForm } from './tokens.ts';

/**
 * A capability of the server: everything about it is in one folder, and one value switches it on.
 *
 * What has to be known without a server, or while the feature is off, is data of the value; the rest is made by `install`.
 *
 * `Api`: the members that the feature adds to the server, such as `{ readonly devices: DeviceFlow }`
 */
export interface Feature<Api extends object = object> {
  /** Names it in errors, such as `devices` for `devices({ lifetime })`. One server has one feature of a name. */
  readonly name: string;
  /** The grant types that kinds of clients have by it, besides that of refreshing. */
  readonly clients?: Readonly<Partial<Record<ClientGrantType, readonly string[]>>>;
  /** The types of the audit events that it records. */
  readonly events?: Readonly<Record<string, EventRule>>;
  /** What the guards of a server without it say of its tokens, whose holders are told why they are refused. */
  readonly tokensOff?: GuardedForm;
  /** For how long something that it derives from the cookie keys, such as the id of a code, has to be recognized. @default 0 */
  readonly keysFor?: Seconds;
  /** What the export of a user has of it, by the name of the member, also while it is off. Its tables say what an erasure deletes. */
  exportUser?(storage: Storage, userId: string): Promise<object>;
  /** Makes what it adds to an administration. */
  administer?(core: AdministrationCore): Promise<Api>;
  /** Makes its parts. Called once for each server, before the server takes requests. */
  install(core: Core): Installed<Api> | Promise<Installed<Api>>;
}

/** The parts of a feature on a server. Each one is left out where the feature has none. */
export interface Installed<Api extends object = object> {
  /** The members that it adds to the server. */
  readonly api?: Api;
  /** What it adds to the engine: models, settings, grants. */
  readonly engine?: EnginePart;
  /** The paths that it answers, below the mount path, before those of the core. */
  readonly places?: readonly FeaturePlace[];
  /** The members that it adds to the server's metadata (RFC 8414). @param announced - those of the engine */
  metadata?(announced: Readonly<Record<string, unknown>>): object;
  /** Its pages, for the bundled ones. Imported on demand, so that a server with pages of its own loads none. */
  pages?(): Promise<FeaturePages>;
  /** A form of tokens other than the server's own, at the guards and at the endpoints for clients. */
  readonly tokens?: TokenForm;
  /** What users let act for them by it, for `auth.grants`. */
  readonly grants?: UserGrantKind;
  /** Listens to what the core and other features do. Each function is awaited, and may throw `StorageError`. */
  readonly on?: Partial<CoreEvents>;
  /** What `auth.check()` finds. */
  check?(): Promise<readonly Finding[]>;
  /** Work besides requests. Resolves when it has stopped. @param stop - aborted by `auth.close()` */
  run?(stop: AbortSignal): Promise<void>;
}

/** What features can listen to. */
export interface CoreEvents {
  /** Tokens were ended: those of a user, a client, a grant, or all. */
  ended(change: StoredChange | undefined): void;
  /** A login session has ended. */
  signedOut(session: { readonly userId: string; readonly uid: string }): Promise<void> | void;
}

/** What users let act for them. */
export interface UserGrantKind {
  /** The name of the member of `grants.list()`, such as `personalTokens`. */
  readonly list: string;
  /** The name of the target of `grants.revoke()`, such as `personalToken`. */
  readonly target: string;
  of(this: void, userId: string): Promise<readonly { readonly id: string }[]>;
  end(id: string): Promise<boolean>;
}

/** What a feature is made of on a storage without a server. */
export interface AdministrationCore {
  readonly storage: Storage;
  readonly audit: Pick<AuditLog, 'record'>;
  announce(this: void, change: StoredChange): void;
  /** The scopes of an API by its URL; of the default one without. */
  scopesOf(this: void, resource: string | undefined): ReadonlyMap<string, unknown> | undefined | 'unknown';
}

/** What features are made of: the core of a server. */
export interface Core {
  readonly options: ResolvedOptions;
  readonly storage: Storage;
  readonly audit: AuditLog;
  readonly secrets: Secrets;
  /** Makes a limiter that all nodes share; `undefined` where the option `limits.attempts` is `false`. */
  limiterOf<S>(this: void, limit: Limit<S>): Limiter<S> | undefined;
  readonly grants: Omit<GrantParts, 'options'>;
  /** Of the current engine, which is there when requests are. */
  readonly provider: Engine['provider'];
  readonly browserRequestOf: BrowserRequestOf;
  readonly sessions: LoginSessions;
  readonly users: UserAssignments;
  /** Writes what requests record besides their work, which may be lost. */
  readonly lastUses: WriteQueue<WaitingUse>;
  /** Removes what has changed from the caches of all nodes. */
  announce(this: void, change: StoredChange): void;
}

/** The members that features add to a server. */
export type Added<F extends readonly Feature[]> = F extends readonly []
  ? unknown
  : UnionToIntersection<F[number] extends infer One ? (One extends Feature<infer Api> ? Api : never) : never>;

type UnionToIntersection<T> = (T extends unknown ? (value: T) => void : never) extends (
  value: infer I,
) => void
  ? I
  : never;
