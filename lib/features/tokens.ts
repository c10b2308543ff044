import type { Context } from 'koa';
import type { AdapterPayload } from 'oidc-provider';

import type { GuardedApi, GuardedForm, LoadToken } from '../access/authenticator.ts';
import type { AuditOrigin } from '../contracts/index.ts';

/** A form of tokens other than the server's own, such as one that a user creates for a script. */
export interface TokenForm extends Pick<GuardedForm, 'isWellFormed'> {
  /** Makes the function that loads a token for the guard of an API, with its principal. */
  loaderFor(api: GuardedApi): LoadToken;
  /**
   * Ends a token by its value, without the authentication of a client: for `auth.revoke({ token })` and for the revocation endpoint.
   * Resolves to `false` when there is none.
   */
  end(value: string, origin?: AuditOrigin): Promise<boolean>;
  /** The response of the introspection endpoint for a token; `undefined` when the token is not active. */
  introspect(value: string, ctx: Context): Promise<(AdapterPayload & { readonly jti: string }) | undefined>;
}
