import { compactVerify, decodeJwt, decodeProtectedHeader, importJWK } from 'jose';
import type { ProtectedHeaderParameters } from 'jose';

import { ASSERTION_ALGORITHMS } from '../../clients/public-keys.ts';
import type { PublicKey } from '../../clients/public-keys.ts';
import type { KeySet } from '../../clients/remote-keys.ts';
import { now } from '../../contracts/clock.ts';
import type { Seconds } from '../../contracts/index.ts';
import { errors } from '../../engine/oidc-provider.ts';
import { isCompactJws } from '../../token/verify-access-token.ts';
import type { AssertionClaims } from './types.ts';

// For issuers whose clock differs.
export const TOLERANCE: Seconds = 60;

// How far ahead the expiry may be. It bounds for how long one that was intercepted can be used, and how many used ones are stored.
const LONGEST_LIFETIME: Seconds = 3600;

const LONGEST_TEXT = 1000;

/** The one answer to an assertion that is not accepted. @param reason - for the log and the audit record */
export function notAccepted(reason: string): errors.InvalidGrant {
  return Object.assign(new errors.InvalidGrant(reason), {
    error_description: 'the assertion is not accepted',
  });
}

/** An assertion of which nothing was verified yet. */
export interface UnverifiedAssertion {
  readonly value: string;
  readonly header: ProtectedHeaderParameters;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The profile that its `typ` names. `undefined`: none that is known. */
  readonly profile: 'id-jag' | 'workload' | undefined;
}

/** Reads an assertion. `undefined`: it is none. */
export function readAssertion(value: unknown): UnverifiedAssertion | undefined {
  if (typeof value !== 'string' || !isCompactJws(value)) return undefined;
  try {
    const header = decodeProtectedHeader(value);
    return { value, header, claims: decodeJwt(value), profile: profileOf(header.typ) };
  } catch {
    return undefined;
  }
}

/** The profile of a `typ` (RFC 7515 section 4.1.9). */
function profileOf(typ: unknown): UnverifiedAssertion['profile'] {
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
  if (type === 'oauth-id-jag+jwt') return 'id-jag';
  // Tokens of another kind, such as access tokens and logout tokens, have types of their own.
  return type === undefined || type === 'jwt' ? 'workload' : undefined;
}

/** @throws InvalidGrant of the engine unless one of the keys has signed it */
export async function verifySignature(assertion: UnverifiedAssertion, { keys }: KeySet): Promise<void> {
  const { alg, crit, kid } = assertion.header;
  if (crit !== undefined || alg === undefined || !ASSERTION_ALGORITHMS.some((one) => one === alg))
    throw notAccepted('it is not signed with an algorithm of this server');
  if (kid === undefined && keys.length > 1)
    throw notAccepted('the issuer has several keys, and the assertion has no kid');
  const meant = kid === undefined ? keys : keys.filter((key) => key['kid'] === kid);
  if (meant.length === 0) throw notAccepted('the issuer has no key with the kid of the assertion');
  for (const key of meant) if (await isSignedWith(assertion.value, key, alg)) return;
  throw notAccepted('the signature is not that of the key of the issuer');
}

async function isSignedWith(value: string, key: PublicKey, alg: string): Promise<boolean> {
  if (key['alg'] !== undefined && key['alg'] !== alg) return false;
  try {
    await compactVerify(value, await importedKey(key, alg), { algorithms: [alg] });
    return true;
  } catch {
    return false;
  }
}

const imported = new WeakMap<PublicKey, Map<string, ReturnType<typeof importJWK>>>();

async function importedKey(key: PublicKey, alg: string): ReturnType<typeof importJWK> {
  const byAlgorithm = imported.get(key) ?? new Map<string, ReturnType<typeof importJWK>>();
  imported.set(key, byAlgorithm);
  const found = byAlgorithm.get(alg) ?? importJWK({ ...key }, alg);
  byAlgorithm.set(alg, found);
  return found;
}

/** Checks what both profiles require of a verified assertion. @throws InvalidGrant of the engine */
export function checkClaims(claims: Readonly<Record<string, unknown>>): AssertionClaims {
  const { exp, iat, nbf, sub } = claims;
  if (!isText(sub)) throw notAccepted('it has no sub');
  if (!isTime(exp) || !isTime(iat)) throw notAccepted('it has no exp, or no iat');
  const at = now();
  if (exp <= at - TOLERANCE) throw notAccepted('it has expired (exp)');
  if (iat > at + TOLERANCE) throw notAccepted('it was issued in the future (iat)');
  if (nbf !== undefined && !(isTime(nbf) && nbf <= at + TOLERANCE))
    throw notAccepted('it is not valid yet (nbf)');
  if (exp - Math.min(iat, at) > LONGEST_LIFETIME + TOLERANCE)
    throw notAccepted('it is valid for longer than an hour (exp)');
  // Without them, it would give more than the issuer has given.
  if (claims['cnf'] !== undefined)
    throw notAccepted('it is bound to a key of the client (cnf), which this server cannot check');
  if (claims['authorization_details'] !== undefined) throw notAccepted('it has authorization_details');
  return claims as AssertionClaims;
}

/** The `jti`. @throws InvalidGrant of the engine without one */
export function requireJti({ jti }: AssertionClaims): string {
  if (isText(jti)) return jti;
  throw notAccepted('it has no jti');
}

/** Whether it is for one audience alone: another server among several could use the assertion here. */
export function isOnlyFor(aud: unknown, audiences: readonly string[]): boolean {
  const named: unknown[] = [aud].flat();
  return named.length === 1 && audiences.some((one) => one === named[0]);
}

/** How the assertions of an issuer may name this server. */
export function audiencesOf(
  { finalSlash }: { readonly finalSlash: boolean },
  issuer: string,
): readonly string[] {
  return finalSlash ? [issuer, `${issuer}/`] : [issuer];
}

function isText(claim: unknown): claim is string {
  return typeof claim === 'string' && claim !== '' && claim.length <= LONGEST_TEXT;
}

function isTime(claim: unknown): claim is Seconds {
  return typeof claim === 'number' && Number.isFinite(claim);
}
