import type { GuardMiddleware } from '../access/guard.ts';
import type { Requires } from '../access/requires.ts';
import type { Gate, User } from '../contracts/index.ts';

/** The authorization server that `createAuthServer()` made, as far as the API asks it by public names. */
export interface ApiAuth<P extends string = string, U extends User = User, S extends object = object> {
  /** The server's identity and base URL: what the API says about itself begins with it. */
  readonly issuer: string;
  readonly gate: Pick<Gate<P>, 'has' | 'permissions'>;
  /** What clients may ask for. */
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  /** The middleware that lets good tokens through and says on `ctx.state` who calls. */
  guard(): GuardMiddleware<P, U, S>;
  /** Makes the middleware that lets callers through who hold a permission. */
  readonly requires: Requires<P>;
}
