import { randomUUID } from 'node:crypto';

import type { KoaContextWithOIDC } from 'oidc-provider';

import type { Seconds } from '../contracts/duration.ts';
import type { CompleteLifetimes } from '../clients/lifetimes.ts';
import type { AccessTokenClaims, Client, User } from '../contracts/index.ts';
import { now } from '../contracts/clock.ts';
import { ConfigError } from '../errors.ts';
import type { AuthenticatedTokenRequest } from '../engine/part.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';
import { audienceOf, toScope } from './scopes.ts';
import type { TokenKeys } from './token-key.ts';

/** What an access token says. */
export interface AccessTokenContent {
  readonly client: Client;
  /** For a token of the client for itself: its `StoredClient.sequence` from before the token was issued. 0: it was never ended. */
  readonly clientSequence?: number;
  /** The grant of a user's token. `undefined`: a token of the client for itself. */
  readonly grant: { readonly id: string; readonly user: User } | undefined;
  readonly api: Pick<ResolvedResource, 'resource'>;
  /** `undefined`: not limited to scopes. Empty: limited to none. */
  readonly scopes: readonly string[] | undefined;
  readonly lifetime: Seconds;
  /**
   * The issuer of the assertion that the token was issued for, which is a reserved claim. A feature has to stand for such a token, see
   * `Opened.accepts`.
   */
  readonly assertedBy?: string;
}

export type SignAccessToken = (content: AccessTokenContent) => Promise<string>;

/** Makes the function that signs all access tokens of a server: JWTs with the claims of RFC 9068 section 2.2, and those of the host. */
export function createSignAccessToken(
  { issuer, aboutUser, tokens }: ResolvedOptions,
  signingKeys: TokenKeys,
): SignAccessToken {
  return async ({ api, assertedBy, client, grant, lifetime, scopes, clientSequence = 0 }) => {
    const named = scopes ?? [];
    const principal = grant
      ? { user: grant.user, grantId: grant.id }
      : { user: undefined, grantId: undefined };
    const hostClaims =
      tokens.claims && checkTokenClaims(await tokens.claims({ ...principal, client, scopes: named }));
    const iat = now();
    const claims = {
      ...hostClaims,
      ...(scopes?.length === 0 && { limited: true }),
      // An end of the client since it was checked has a greater number, and revokes the token.
      ...(!grant && clientSequence > 0 && { revocation_sequence: clientSequence }),
      ...(grant && { grant_id: grant.id }),
      ...(assertedBy !== undefined && { asserted_by: assertedBy }),
      principal: grant ? 'user' : 'client',
      jti: randomUUID(),
      sub: grant?.user.id ?? client.id,
      iat,
      exp: iat + lifetime,
      ...(named.length > 0 && { scope: named.join(' ') }),
      client_id: client.id,
      iss: issuer,
      aud: audienceOf(scopes, api, aboutUser),
    };
    return signingKeys()[0]!.signJwt(claims, 'at+jwt');
  };
}

/** Names that a claim of the host may not have, because readers of tokens or introspection responses give them a meaning. */
const RESERVED: ReadonlySet<string> = new Set<string>([
  // Claims of this server. The guard refuses a token without them.
  ...'principal grant_id revocation_sequence limited asserted_by'.split(' '),
  // RFC 7519 section 4.1, RFC 9068 section 2.2
  ...'iss sub aud exp nbf iat jti client_id scope auth_time acr amr'.split(' '),
  // RFC 7800, RFC 8693 section 4, RFC 9396 section 9.1
  ...'cnf act may_act authorization_details'.split(' '),
  // RFC 7662 section 2.2
  ...'active token_type username'.split(' '),
]);

/** Checks what the option `tokens.claims` has returned. @throws ConfigError */
function checkTokenClaims(claims: unknown): object | undefined {
  if (claims === undefined) return undefined;
  if (Object.prototype.toString.call(claims) !== '[object Object]') {
    throw new ConfigError('tokens.claims', "return an object such as { tenant: 'north' }, or undefined");
  }
  const reserved = Object.keys(claims as object).filter((name) => RESERVED.has(name));
  if (reserved.length > 0) {
    throw new ConfigError(
      'tokens.claims',
      `leave out ${reserved.join(', ')}: these claim names are reserved for the server and the standards; choose others, such as a URL of yours`,
    );
  }
  try {
    // A copy in the form that the token will have, so that the host cannot change the object later.
    return JSON.parse(JSON.stringify(claims)) as object;
  } catch (cause) {
    throw new ConfigError(
      'tokens.claims',
      `return a value that can be written as JSON: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** The claims that the host added to a verified token. */
export function hostClaimsOf(claims: AccessTokenClaims): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !RESERVED.has(name)));
}

/**
 * The lifetimes of a client's tokens: each is the shorter one of the client's and the server's, because the server's may have
 * been lowered after the client was registered.
 */
export function effectiveLifetimes(
  { lifetimes }: Pick<Client, 'lifetimes'>,
  server: CompleteLifetimes,
): CompleteLifetimes {
  const { accessToken = Infinity, refreshToken = Infinity, refreshTokenAbsolute = Infinity } = lifetimes;
  return {
    accessToken: Math.min(accessToken, server.accessToken),
    refreshToken: Math.min(refreshToken, server.refreshToken),
    refreshTokenAbsolute: Math.min(refreshTokenAbsolute, server.refreshTokenAbsolute),
  };
}

/** The response with the tokens (RFC 6749 section 5.1). */
export function respond(
  ctx: KoaContextWithOIDC,
  request: AuthenticatedTokenRequest,
  {
    accessToken,
    content,
    hasOfflineAccess,
    more = [],
    refreshToken,
  }: {
    readonly accessToken: string;
    readonly content: AccessTokenContent;
    readonly refreshToken?: string | undefined;
    /** What features add. */
    readonly more?: readonly object[];
    /** The client has asked for `offline_access`. */
    readonly hasOfflineAccess?: boolean;
  },
): void {
  const { lifetime, scopes = [] } = content;
  const scope = toScope(scopes, { hasOfflineAccess });
  request.issued = content;
  ctx.body = {
    access_token: accessToken,
    expires_in: lifetime,
    ...Object.assign({}, ...more),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(scope !== undefined && { scope }),
    token_type: 'Bearer',
  };
}
