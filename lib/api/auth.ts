import type { GuardMiddleware } from '../access/guard.ts';
import type { Logger, User } from '../contracts.ts';

/** What the API asks of the authorization server. `createAuthServer()` returns one; so can a test. */
export interface ApiAuth<P extends string = string, U extends User = User> {
  /** Where the server's paths begin in this app, without a trailing slash: `''` or `/auth`. */
  readonly mountPath: string;
  readonly logger: Logger;
  /** The middleware that lets good tokens through and says on `ctx.state` who calls. */
  guard(): GuardMiddleware<P, U>;
}
