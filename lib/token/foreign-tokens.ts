import type { LastUses } from '../clients/last-use.ts';
import type {
  AccessTokenClaims,
  ClientAttempt,
  Grant,
  Limiter,
  VerifyAccessToken,
} from '../contracts/index.ts';
import { errors } from '../engine/oidc-provider.ts';
import type { EngineRequest, FindForeignRefreshToken, PresentedCredential } from '../engine/request.ts';

/**
 * The access tokens of another server: JWTs that speak for users and clients of this one. With the claims of this server's own they are
 * used as these are, for the default API.
 */
export interface ForeignAccessTokens {
  /** Whether a text can be one, and none of this server. */
  isWellFormed(text: string): boolean;
  readonly verify: VerifyAccessToken;
  /** Whether verified claims are those of such a token. */
  isOwn(claims: Pick<AccessTokenClaims, 'jti'>): boolean;
  /** Whether neither a token, nor its grant, its user or its client was revoked, here or there. @param appUsed - called when it is active */
  isActive(claims: AccessTokenClaims, appUsed?: LastUses['appUsed']): Promise<boolean>;
}

/** What finds the refresh tokens of other servers. */
export interface ForeignRefreshTokens {
  /** Those of features, of which the first that knows the form of a token finds it. */
  readonly finders: readonly FindForeignRefreshToken[];
  /** The limit of failed authentications. `undefined`: there is none. */
  readonly failedClients: Limiter<ClientAttempt> | undefined;
}

/**
 * Finds a refresh token that another server has issued, and that a client presents.
 *
 * @param isClaim - whether it is exchanged or revoked next: nothing may refuse that any more
 * @throws InvalidGrant of the engine when it is not valid
 */
export async function findForeign(
  value: string,
  { failedClients: limiter, finders }: ForeignRefreshTokens,
  { client, host }: EngineRequest,
  isClaim: boolean,
): Promise<PresentedCredential | undefined> {
  const clientId = client!.client.id;
  const attempt = { clientId, address: host.ip };
  const limit = limiter && {
    check: () => limiter.check(attempt),
    failed: async () => limiter.take(attempt),
  };
  return findFirst(finders, value, { clientId, isClaim, limit });
}

/** Finds the grant of one that the host revokes. */
export async function findForeignGrant(
  finders: ForeignRefreshTokens['finders'],
  value: string,
): Promise<Grant | undefined> {
  try {
    const found = await findFirst(finders, value, { clientId: undefined, isClaim: true, limit: undefined });
    return found?.grant;
  } catch (error) {
    if (error instanceof errors.InvalidGrant) return undefined;
    throw error;
  }
}

async function findFirst(
  finders: ForeignRefreshTokens['finders'],
  ...token: Parameters<FindForeignRefreshToken>
): Promise<PresentedCredential | undefined> {
  for (const find of finders) {
    const found = await find(...token);
    if (found) return found;
  }
  return undefined;
}
