import { optional } from './declare.ts';
import type { Given } from './declare.ts';
import { boolean, names } from './values.ts';

export const CLIENTS = {
  /**
   * Whether confidential clients can be registered with public keys, and authenticate by assertions that they sign, instead of a
   * secret: `private_key_jwt` (RFC 7523, OpenID Connect Core 1.0 section 9). An assertion is for this server (its `aud`), expires
   * within an hour, and is accepted once on all nodes (its `jti`). When `false`, such clients cannot authenticate with their
   * keys.
   * @default false
   */
  privateKeyJwt: optional(boolean, false),
  /**
   * Names that users cannot give to their apps, such as the names of your own apps; names that look like them are refused too.
   * The brand of the pages is always reserved. Users with `manage_all_apps` are exempt.
   * @default []
   */
  reservedNames: optional(names, []),
  /**
   * Whether every client has to use PKCE (RFC 7636). When `false`, public clients have to; confidential clients may, and after
   * an authorization request with a `code_challenge` the code exchange requires the `code_verifier`.
   * @default false
   */
  requirePkce: optional(boolean, false),
};

/** How apps are registered, and how they prove who they are. */
export interface ClientOptions extends Given<typeof CLIENTS> {}
