import type { LastUses } from '../clients/last-use.ts';
import type {
  AccessTokenClaims,
  RevocationStore,
  TokenRefusal,
  VerifyAccessToken,
} from '../contracts/index.ts';
import { now } from '../contracts/clock.ts';
import type { ForeignAccessTokens } from './foreign-tokens.ts';
import type { TokenKey, TokenKeys } from './token-key.ts';

/** In characters. Tokens of this server have about 700. */
const MAX_TOKEN_LENGTH = 8192;

// RFC 7515 section 7.1. The signature must be canonical (RFC 4648 section 3.5): the unused bits of its last character are zero.
// Otherwise the token would stay valid with another last character. The expression takes linear time on any input.
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** Whether a token has the form and size of this server's tokens, so that its signature is checked. */
export function isCompactJws(token: string): boolean {
  return token.length <= MAX_TOKEN_LENGTH && COMPACT_JWS.test(token);
}

/**
 * Creates the verification of access tokens (RFC 9068 section 4): signature by a key of this server with the algorithm of that
 * key, type `at+jwt`, issuer, audience and time. Keys that the token itself names (`jwk`, `jku`, `x5u`) are ignored.
 *
 * Not with jose, which verifies with WebCrypto: for each new token that would be a fifth of the guard's time.
 */
export function createVerifyAccessToken({
  issuer,
  audience,
  keys,
  reload,
}: {
  issuer: string;
  /** The API that the token has to be for. `undefined`: any */
  audience: string | undefined;
  keys: TokenKeys;
  /** Reads the keys again, for a token of a key that another node has added. */
  reload: () => Promise<void>;
}): VerifyAccessToken {
  async function findKey(kid: unknown): Promise<TokenKey | undefined> {
    const find = (): TokenKey | undefined => keys().find((key) => key.kid === kid);
    const known = find();
    if (known) return known;
    await reload();
    return find();
  }

  return async function verifyAccessToken(token, refused) {
    if (!isCompactJws(token)) return undefined;
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const { alg, crit, kid, typ } = parsePart(header) ?? {};
    // `crit` names what a verifier has to understand (RFC 7515 section 4.1.11), and no token of this server has it.
    if (typ !== 'at+jwt' || crit !== undefined) {
      if (alg !== undefined && typ !== 'at+jwt') refused?.({ reason: 'type' });
      return undefined;
    }
    const key = await findKey(kid);
    if (!key || key.alg !== alg) return undefined;
    const signed = Buffer.from(token.slice(0, -signature.length - 1));
    if (!(await key.verify(signed, Buffer.from(signature, 'base64url')))) return undefined;
    const claims = parsePart(payload) as AccessTokenClaims | undefined;
    if (claims && isAccessTokenClaims(claims, issuer, audience)) return claims;
    const why = claims && refusalOf(claims, issuer, audience);
    if (why) refused?.(why);
    return undefined;
  };
}

/** A JSON object in base64url. */
function parsePart(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Why claims that this server has signed are refused. `undefined`: they are none of an access token. */
function refusalOf(
  { aud, exp, iss }: Partial<AccessTokenClaims>,
  issuer: string,
  audience: string | undefined,
): TokenRefusal | undefined {
  if (typeof iss === 'string' && iss !== issuer) return { reason: 'issuer', url: iss };
  const [url] = [aud].flat();
  if (typeof url === 'string' && audience !== undefined && ![aud].flat().includes(audience))
    return { reason: 'audience', url };
  return typeof exp === 'number' && exp <= now() ? { reason: 'expired' } : undefined;
}

function isAccessTokenClaims(
  claims: AccessTokenClaims,
  issuer: string,
  audience: string | undefined,
): boolean {
  const { iss, sub, client_id: clientId, jti, aud, scope, principal, grant_id: grantId } = claims;
  const {
    exp,
    iat,
    nbf = 0,
    revocation_sequence: sequence = 0,
  } = claims as AccessTokenClaims & { readonly nbf?: number };
  return (
    iss === issuer &&
    (audience === undefined || [aud].flat().includes(audience)) &&
    [exp, iat, nbf].every((time) => typeof time === 'number') &&
    nbf <= now() &&
    now() < exp &&
    // Two: the API, and then the endpoint that says who the user is, whether it is on or not.
    (!Array.isArray(aud) || (aud.length === 2 && String(aud[1]).startsWith(`${iss}/`))) &&
    [sub, clientId, jti, ...[aud].flat()].every((claim) => typeof claim === 'string' && claim !== '') &&
    (scope === undefined || typeof scope === 'string') &&
    Number.isSafeInteger(sequence) &&
    (principal === 'user' ? typeof grantId === 'string' : principal === 'client' && grantId === undefined)
  );
}

/** Whether neither a verified access token, nor its grant, its user or its client was revoked. One read. */
export type IsTokenActive = (claims: AccessTokenClaims) => Promise<boolean>;

/** What features say of tokens. */
interface TokensOfFeatures {
  readonly foreign: readonly ForeignAccessTokens[];
  /** Whether a feature stands for a token that was issued for an assertion. */
  readonly accepts: readonly ((claims: AccessTokenClaims) => boolean)[];
}

/** @param appUsed - called when the token of a user is active. Left out: the check is no use of the token */
export function createIsTokenActive(
  revocations: Pick<RevocationStore, 'isValid'>,
  { accepts, foreign }: TokensOfFeatures,
  appUsed?: LastUses['appUsed'],
): IsTokenActive {
  return async function isTokenActive(claims) {
    // Without the feature that has issued it, nothing else refuses it.
    if (claims.asserted_by !== undefined && !accepts.some((accept) => accept(claims))) return false;
    for (const tokens of foreign) if (tokens.isOwn(claims)) return tokens.isActive(claims, appUsed);
    const {
      client_id: clientId,
      grant_id: grantId,
      iat,
      jti: id,
      principal,
      revocation_sequence: sequence = 0,
      sub,
    } = claims;
    const grant = principal === 'user' ? { id: grantId ?? '', userId: sub } : undefined;
    const isActive = await revocations.isValid({ id, clientId, grant, sequence });
    if (isActive && grant) appUsed?.({ ...grant, clientId }, iat);
    return isActive;
  };
}
