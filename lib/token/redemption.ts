// `hash` through the default export, as in lib/keys/hash.ts.
import crypto, { createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { errors } from '../engine/oidc-provider.ts';

import type { Credential, GrantStore } from '../contracts/index.ts';
import type { PresentedCredential } from '../engine/request.ts';
import { hashCredential } from '../keys/hash.ts';
import { seal, unseal } from '../keys/seal.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { scopeNames } from './scopes.ts';

// In seconds. The time until which a grant is needed is rounded up to a multiple of this: an exact time would change with each
// refresh, which costs the update of one more row and one more index.
const EXPIRY_STEP = 3600;

// In seconds, for the difference between the clocks of two nodes.
const CLOCK_MARGIN = 60;

/** Finds a credential with its grant, whose client may be another one than the client that presents it. */
export async function findPresented(
  grants: Pick<GrantStore, 'findCredential'>,
  kind: Credential['kind'],
  value: string,
): Promise<PresentedCredential | undefined> {
  const found = await grants.findCredential(kind, hashCredential(value));
  if (!found) return undefined;
  const { resource, scope } = found.credential.payload;
  return { ...found, value, resource: resource as string | undefined, scopes: scopeNames(scope) };
}

/** What a credential is exchanged for. */
export interface TokenExchange {
  /** The refresh token of the response. */
  readonly successor: { readonly value: string; readonly credential: Credential };
  /** When the access token of the response expires, in seconds since 1970. */
  readonly accessTokenExpiresAt: number;
  readonly refreshGrace: number;
}

/**
 * Spends a credential and stores the refresh token that it is exchanged for, in one transaction.
 *
 * When a refresh token or a device code was spent within the grace, the request gets the successor that the first request got:
 * the successor is sealed with a key from the presented token. In any other case a spent credential is `invalid_grant`.
 *
 * When the process dies between the transaction and the response, these two can be sent again within the grace. A code
 * cannot, so the user has to authorize the app again.
 *
 * @returns the refresh token of the response
 * @throws InvalidGrant of the engine when another request has spent the credential
 */
export async function redeem(
  grants: Pick<GrantStore, 'redeem'>,
  { credential: { id, kind }, value }: PresentedCredential,
  { accessTokenExpiresAt, refreshGrace, successor }: TokenExchange,
): Promise<string> {
  // A retry at the end of the grace gets an access token that expires later by the length of the grace.
  const expiresAt = Math.max(
    accessTokenExpiresAt + refreshGrace + CLOCK_MARGIN,
    successor.credential.expiresAt,
  );
  const sealedSuccessor =
    kind !== 'code' && refreshGrace > 0 ? sealSuccessor(successor.value, value) : undefined;
  const redemption = await grants.redeem(
    { kind, id },
    {
      successor: successor.credential,
      neededUntil: Math.ceil(expiresAt / EXPIRY_STEP) * EXPIRY_STEP,
      sealedSuccessor,
    },
  );
  if (redemption.outcome === 'redeemed') return successor.value;
  if (
    redemption.outcome === 'spent' &&
    sealedSuccessor !== undefined &&
    redemption.sealedSuccessor !== undefined
  )
    return openSuccessor(redemption.sealedSuccessor, value);
  throw new errors.InvalidGrant(`${kind} was spent by another request`);
}

/**
 * Whether presenting this credential is a replay, which revokes all tokens of its grant (RFC 6749 section 4.1.2, RFC 9700
 * section 4.14.2), unless it is a device code. A spent code always is. A spent refresh token or device code is not while the client may
 * have missed the response: within the grace, and until its successor is used, which proves that the response arrived.
 */
export async function isReplay(
  grants: Pick<GrantStore, 'findCredential'>,
  { credential: { kind, sealedSuccessor }, spentFor, value }: PresentedCredential,
  { tokens: { refreshGrace } }: ResolvedOptions,
): Promise<boolean> {
  if (spentFor === undefined) return false;
  if (kind === 'code' || sealedSuccessor === undefined) return true;
  if (spentFor >= refreshGrace * 1000) return true;
  const successor = await findPresented(grants, 'refresh_token', openSuccessor(sealedSuccessor, value));
  return successor === undefined || successor.spentFor !== undefined;
}

/**
 * Encrypts a refresh token with a key derived from the token that it replaces. The storage contains only a hash of the latter,
 * so the sealed value cannot be opened with the contents of the storage.
 */
function sealSuccessor(successor: string, presented: string): string {
  // Of both tokens, so that each successor that is sealed with the same key has another one. Random bytes would cost five times
  // as much: Node asks the operating system for them each time.
  return seal(Buffer.from(successor), keyFrom(presented), {
    nonce: hashed(`\0\0\0\u0002${presented}${successor}${INFO}`),
  });
}

/** Decrypts the result of {@link sealSuccessor}. @throws Error when the presented token is another one */
function openSuccessor(sealed: string, presented: string): string {
  return unseal(sealed, keyFrom(presented)).toString('utf8');
}

// The one-step key derivation of NIST SP 800-56C revision 2 (section 4.1, option 1), with one block. No extraction step is
// needed, because the presented token has 256 random bits.
function keyFrom(presented: string): KeyObject {
  return createSecretKey(hashed(`\0\0\0\u0001${presented}${INFO}`));
}

function hashed(text: string): Buffer {
  return crypto.hash('sha256', text, 'buffer');
}

const INFO = 'koa-gatehouse refresh token successor';
