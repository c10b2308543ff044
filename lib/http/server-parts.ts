import type { Logger, Storage } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';

/** The parts of an authorization server that the API and the metrics need, and that a host has no use for. */
export interface ServerParts {
  /** Limits and counts the requests under way, those to the API too. */
  readonly concurrencyLimit: Pick<ConcurrencyLimit, 'run' | 'count'>;
  readonly logger: Logger;
  /** Where the server's paths begin in the requests of this app, without a trailing slash: `''` or `/auth`. */
  readonly mountPath: string;
  readonly storage: Pick<Storage, 'idempotency' | 'transaction'>;
}

const partsOf = new WeakMap<object, ServerParts>();

/** Keeps the parts of a server, for {@link serverPartsOf}. */
export function setServerParts(auth: object, parts: ServerParts): void {
  partsOf.set(auth, parts);
}

/** @throws ConfigError when `createAuthServer()` did not make this object */
export function serverPartsOf(auth: object): ServerParts {
  const parts = partsOf.get(auth);
  if (parts) return parts;
  throw new ConfigError('auth', 'pass the server that createAuthServer() resolved to, not a copy of it');
}
