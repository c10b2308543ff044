import type { AuditLog, Logger, RequestCounter, Storage } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';

/** The parts of an authorization server that the API and the metrics use, and that are not public. */
export interface ServerParts {
  readonly audit: Pick<AuditLog, 'record'>;
  /** Limits and counts the running requests, including those to the API. */
  readonly concurrencyLimit: Pick<ConcurrencyLimit, 'run' | 'count'>;
  readonly logger: Logger;
  /** Where the server's paths begin in the requests of this app, without a trailing slash: `''` or `/auth`. */
  readonly mountPath: string;
  /** Counts the requests of callers, for the limits of APIs. */
  readonly requestCounter: RequestCounter;
  /** The name and the scopes of each API, by URL; for the default API, the issuer. */
  readonly resources: ReadonlyMap<
    string,
    { readonly name: string; readonly scopes: ReadonlyMap<string, { readonly description: string }> }
  >;
  readonly storage: Pick<Storage, 'idempotency' | 'transaction'>;
}

const partsOf = new WeakMap<object, ServerParts>();

/** Registers the parts of a server, for {@link serverPartsOf}. */
export function setServerParts(auth: object, parts: ServerParts): void {
  partsOf.set(auth, parts);
}

/** @throws ConfigError when the object is not one that `createAuthServer()` returned */
export function serverPartsOf(auth: object): ServerParts {
  const parts = partsOf.get(auth);
  if (parts) return parts;
  throw new ConfigError('auth', 'pass the server that createAuthServer() resolved to, not a copy of it');
}
