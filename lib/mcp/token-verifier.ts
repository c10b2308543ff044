import type { ApiAuth } from '../api/router.ts';
import type { Principal, User } from '../contracts/index.ts';
import { partsOf } from '../contracts/server-parts.ts';
import { logFailure } from '../http/unavailable.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import { loadSdk } from './protocol.ts';

/**
 * Creates the verifier of access tokens for `requireBearerAuth({ verifier })` of `@modelcontextprotocol/express`, and of the SDK for other
 * servers. It accepts what `auth.guard()` accepts, with the same cache. A tool finds the user or the client as
 * `authInfo.extra.principal`. Uses of personal access tokens are not recorded, because the SDK does not pass the request on.
 *
 *     app.post('/mcp', requireBearerAuth({ verifier: createTokenVerifier({ auth, resource }) }), …)
 *
 * @param options.auth - the server that `createAuthServer()` resolved to
 * @param options.resource - the URL of the API whose tokens are accepted, one of the option `resources`. @default the issuer
 * @throws ConfigError for a resource that the server does not have
 */
export function createTokenVerifier<A extends string>(options: {
  readonly auth: ApiAuth<string, User, object, A>;
  readonly resource?: NoInfer<A> | undefined;
}): {
  /** Verifies a token. @throws `OAuthError` of the SDK, with `invalid_token` or, where the storage cannot be reached, `server_error` */
  verifyAccessToken(token: string): Promise<{
    token: string;
    /** Of a personal access token, which was issued to no client, the token's own id. */
    clientId: string;
    scopes: string[];
    /** In seconds since 1970. */
    expiresAt: number;
    /** The URL of the API. */
    resource: URL;
    extra: { principal: Principal };
  }>;
} {
  const { auth, resource: given } = readOptions(
    { auth: unchecked<ApiAuth<string, User, object, A>>, resource: optional(unchecked<A>) },
    options,
    'createTokenVerifier()',
  );
  const { logger, verifierFor } = partsOf(auth);
  const verify = verifierFor(given);
  const resource = new URL(given ?? auth.issuer);
  return {
    async verifyAccessToken(token) {
      let verified;
      try {
        verified = await verify(token);
      } catch (error) {
        logFailure(logger, { err: error }, 'access token not verified');
        throw await refusal(503, 'The server cannot verify access tokens at the moment.');
      }
      if ('status' in verified) throw await refusal(verified.status, verified.detail);
      const { expiresAt, principal } = verified;
      return {
        token,
        clientId: principal.client?.id ?? principal.token?.id ?? '',
        scopes: [...(principal.scopes ?? [])],
        expiresAt,
        resource,
        extra: { principal },
      };
    },
  };
}

/** The error of the SDK for a token that is refused with a status. To other codes than these two, the SDK answers 400. */
async function refusal(status: number, detail: string): Promise<Error> {
  const { OAuthError, OAuthErrorCode } = await loadSdk('createTokenVerifier()');
  return new OAuthError(status === 401 ? OAuthErrorCode.InvalidToken : OAuthErrorCode.ServerError, detail);
}
