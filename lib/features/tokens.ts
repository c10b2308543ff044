import type { Context } from 'koa';
import type { AdapterPayload } from 'oidc-provider';

import type { LoadedToken } from '../access/authenticator.ts';
import type { AuthFailure, ChallengedApi } from '../access/challenge.ts';
import type { AuditOrigin, Seconds } from '../contracts/index.ts';
import type { ResolvedResource } from '../options/resolved-options.ts';

/** A form of tokens other than the server's own, such as one that a user creates for a script. */
export interface TokenForm {
  /** Whether a text can be one. */
  isWellFormed(text: string): boolean;
  /** Makes the function that loads one for the guard of an API, with the principal that it speaks for. */
  loaderFor(api: GuardedApi): LoadToken;
  /**
   * Ends one by its value, without the authentication of a client: for `auth.revoke({ token })` and for the revocation endpoint. Resolves
   * to `false` when there is none.
   */
  end(value: string, origin?: AuditOrigin): Promise<boolean>;
  /** What the introspection endpoint says of one; `undefined` when it is not active. */
  introspect(value: string, ctx: Context): Promise<(AdapterPayload & { readonly jti: string }) | undefined>;
}

/** The API of a guard. */
export type GuardedApi = ChallengedApi & Pick<ResolvedResource, 'scopes'>;

/** Loads a token that is well-formed. @param at - the time at which it has not expired */
export type LoadToken = (token: string, at: Seconds) => Promise<LoadedToken | AuthFailure>;
