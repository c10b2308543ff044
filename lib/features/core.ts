import type { UserAssignments } from '../access/principal.ts';
import type { CheckAppName } from '../clients/app-names.ts';
import type { ClientDirectory } from '../clients/directory.ts';
import type { KnownNames } from '../clients/fields.ts';
import type { LastUses, WaitingUse, WriteQueue } from '../clients/last-use.ts';
import type { RegistryFor } from '../clients/registry.ts';
import type {
  AuditLog,
  AuditOrigin,
  Client,
  Limiter,
  RemoteWaits,
  Storage,
  StoredChange,
  VerifyAccessToken,
} from '../contracts/index.ts';
import type { ApiTool } from '../contracts/server-parts.ts';
import type { Engine } from '../engine/run.ts';
import type { PublicFetch } from '../http/public-fetch.ts';
import type { Network } from '../http/public-request.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { Limit } from '../limits/limiter.ts';
import type { AuthorizationRequests } from '../login/authorization-request.ts';
import type { BrowserRequestOf, LoginSessions } from '../login/login-session.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { EventRules } from '../record/event-rules.ts';
import type { RevocationTarget } from '../token/revoke.ts';
import type { TokenKeys } from '../token/token-key.ts';
import type { FindUsable } from '../token/usable-token.ts';
import type { IsTokenActive } from '../token/verify-access-token.ts';

/** The parts of a server that exist before its tokens and its directory of clients are made, which features take part in. */
export interface CoreBase {
  readonly options: ResolvedOptions;
  /** The storage, also for a feature's own tables: `storage.store(name, make)`. */
  readonly storage: Storage;
  readonly audit: AuditLog;
  readonly clients: StoredClients;
  /** Gets a document from a URL that a stranger chose. */
  readonly publicFetch: PublicFetch;
  /** Writes what requests record besides their work, which may be lost. */
  readonly lastUses: WriteQueue<WaitingUse>;
}

/** The core of a server, on which features make their parts. Each member is needed by a feature. */
export interface Core extends CoreBase {
  /** The rules of all events that may be stored, those of features that are off included. */
  readonly eventRules: EventRules;
  readonly secrets: Secrets;
  /**
   * Makes a limiter that all nodes share; `undefined` where the option `limits.attempts` is `false`. A limit on stored rows has to hold
   * there too: make it with `createLimiter()`.
   */
  readonly limiterOf: <S>(limit: Limit<S>) => Limiter<S> | undefined;
  /** The provider of the current engine, which exists once the server takes requests. */
  readonly provider: Engine['provider'];
  readonly browserRequestOf: BrowserRequestOf;
  readonly sessions: LoginSessions;
  /** The authorization requests that wait for a login or a consent. */
  readonly requests: AuthorizationRequests;
  readonly tokens: CoreTokens;
  readonly users: UserAssignments;
  /** The tools of each API for which this process has made an endpoint for agents, by its resource. */
  readonly tools: ReadonlyMap<string, readonly ApiTool[]>;
  readonly clients: CoreClients;
  /** The network in which URLs of strangers are looked up. */
  readonly network: Partial<Network>;
  /**
   * Makes a function that fetches documents as `publicFetch` does, with places of its own, so that fetches for strangers leave those of the
   * feature free. `loopback`: whether http URLs on loopback are fetched too.
   */
  readonly publicFetchFor: (given: Pick<Network, 'loopback'>) => PublicFetch;
  /** Removes changed objects from the caches of all nodes. */
  readonly announce: (change: StoredChange) => void;
}

/** The tokens of a server. */
export interface CoreTokens {
  /** Finds out whether a verified token may be used now, see `FindUsable`. */
  readonly findUsable: FindUsable;
  /** Makes the check whether a verified token was revoked. */
  readonly isActiveFor: (appUsed?: LastUses['appUsed']) => IsTokenActive;
  /** Makes the function that verifies tokens for one API. */
  readonly verifyFor: (resource: string) => VerifyAccessToken;
  /** Makes the function that revokes, with audit events of an origin. */
  readonly revokeFor: (origin?: AuditOrigin) => (target: RevocationTarget) => Promise<void>;
  /** The keys that sign what clients learn about users; `undefined` when no feature tells them anything. */
  readonly aboutUserKeys:
    | { readonly signing: TokenKeys; readonly ring: Pick<KeyRing, 'reload' | 'signing'> }
    | undefined;
}

/** The clients of a server. */
export interface CoreClients extends StoredClients {
  /** Finds the clients of requests, cached. */
  readonly directory: Pick<ClientDirectory, 'addConsent' | 'find'>;
}

/** The clients of a server that are stored. */
export interface StoredClients {
  /** Changes stored clients, and records it. */
  readonly registryFor: RegistryFor;
  /** What the fields of a client are checked against. */
  readonly names: KnownNames;
  /** Loads the check of the names of apps that no administrator registers. */
  readonly loadNameCheck: () => Promise<CheckAppName>;
  /** Records that a client has used its tokens. */
  readonly lastUses: Pick<LastUses, 'appUsed'>;
  /** Called when a stored client has changed. */
  readonly onChange: (id: string) => void;
  /** Called with each client that was removed. */
  readonly onRemoved: (client: Pick<Client, 'id' | 'name'>) => void;
  /** Limits the requests that wait for something outside this server. */
  readonly waits: RemoteWaits;
}

/** What a feature gets in an administration: a storage without a server. */
export interface AdministrationCore {
  readonly storage: Storage;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly announce: (change: StoredChange) => void;
  /**
   * The scopes of an API by its URL, or of the default API without a URL; `'unknown'` when the administration was made without scopes.
   */
  readonly scopesOf: (resource: string | undefined) => ReadonlyMap<string, unknown> | undefined | 'unknown';
}
