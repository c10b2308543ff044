import type { GuardMiddleware } from '../access/guard.ts';
import type { Requires } from '../access/requires.ts';
import type { Gate, Logger, Storage, User } from '../contracts/index.ts';
import type { ConcurrencyLimit } from '../http/concurrency-limit.ts';

/** What the API asks of the authorization server. `createAuthServer()` returns one; so can a test. */
export interface ApiAuth<P extends string = string, U extends User = User, S extends object = object> {
  /** The server's identity and base URL: what the API says about itself begins with it. */
  readonly issuer: string;
  /** Where the server's paths begin in this app, without a trailing slash: `''` or `/auth`. */
  readonly mountPath: string;
  readonly logger: Logger;
  readonly gate: Pick<Gate<P>, 'has' | 'permissions'>;
  /** What clients may ask for. */
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  readonly storage: Pick<Storage, 'idempotency' | 'transaction'>;
  /** Limits how many requests run at once. @default any number */
  readonly admission?: Pick<ConcurrencyLimit, 'run'>;
  /** The middleware that lets good tokens through and says on `ctx.state` who calls. */
  guard(): GuardMiddleware<P, U, S>;
  /** Makes the middleware that lets callers through who hold a permission. */
  readonly requires: Requires<P>;
}
