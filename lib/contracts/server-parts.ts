import type { EventRules } from '../record/event-rules.ts';
import type { ClientKinds } from './client-kinds.ts';
import { ConfigError } from '../errors.ts';
import type { AuditLog } from './audit.ts';
import type { ConcurrencyLimit, LimitCallers } from './limits.ts';
import type { GuardOutcome, Logger, Trace } from './operation.ts';
import type { Seconds } from './duration.ts';
import type { Pages } from './pages.ts';
import type { Principal } from './principals.ts';
import type { Storage } from './storage.ts';

/** A metric that counts requests by their `error`. */
export interface RequestCounter {
  readonly name: string;
  readonly help: string;
}

/** A tool that agents call at an API, as far as users are told of it. */
export interface ApiTool {
  readonly title: string;
  readonly permission: string;
  readonly readOnly: boolean;
}

/**
 * The parts of an authorization server on which its APIs, tools for agents and metrics are made. They change without notice, and no
 * declaration of the package has them.
 */
export interface ServerParts {
  /** Whether apps can connect that nobody registered. */
  readonly admitsAgents: boolean;
  /** The URL of each API for which this process has made a router, by its resource. The pages name the URL of the default API. */
  readonly apis: Map<string, string>;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly clientKinds: ClientKinds;
  /** The endpoints of features, with their metrics. */
  readonly endpoints: readonly { readonly name: string; readonly counter?: RequestCounter }[];
  /** How the events of features are recorded and counted. */
  readonly eventRules: EventRules;
  /** Limits and counts the running requests, including those to the API. */
  readonly concurrencyLimit: Pick<ConcurrencyLimit, 'run' | 'count' | 'admitStream'>;
  /** Makes the limiters of callers, for the limits of APIs. */
  readonly limitCallers: LimitCallers;
  readonly logger: Logger;
  /** Where the server's paths begin in the requests of this app, without a trailing slash: `''` or `/auth`. */
  readonly mountPath: string;
  /** `guarded` is called for each refused request. */
  readonly observers: { readonly guarded: ((outcome: GuardOutcome) => void) | undefined };
  readonly pages: Pick<Pages, 'brand' | 'look'>;
  /** The name and the scopes of each API, by URL; for the default API, the issuer. */
  readonly resources: ReadonlyMap<
    string,
    {
      readonly name: string;
      readonly scopes: ReadonlyMap<
        string,
        { readonly description: string; readonly optional?: boolean | undefined }
      >;
    }
  >;
  /** The name of the cookie of a login session. */
  readonly sessionCookie: string;
  readonly storage: Pick<Storage, 'attempts' | 'idempotency' | 'transaction'>;
  /**
   * The tools of each API for which this process has made an endpoint for agents, by its resource. The pages on which users give access
   * name them.
   */
  readonly tools: Map<string, readonly ApiTool[]>;
  readonly trace: Trace;
  /** Verifies the tokens of an API without their requests. @throws ConfigError when the server does not have the API */
  readonly verifierFor: (
    resource: string | undefined,
  ) => (
    token: string,
  ) => Promise<
    | { readonly principal: Principal; readonly expiresAt: Seconds }
    | { readonly status: number; readonly code: string; readonly detail: string }
  >;
}

/** @throws ConfigError when the object is not one that `createAuthServer()` returned */
export function partsOf(auth: { readonly parts: ServerParts }): ServerParts {
  const parts = (auth as Partial<typeof auth> | null | undefined)?.parts;
  if (parts) return parts;
  throw new ConfigError('auth', 'pass the server that createAuthServer() resolved to');
}
