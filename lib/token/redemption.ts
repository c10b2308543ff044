// `hash` through the default export, as in lib/keys/hash.ts.
import crypto, { createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { toMilliseconds } from '../contracts/duration.ts';
import { errors } from '../engine/oidc-provider.ts';

import type { Client, Credential, GrantStore, Seconds, Storage } from '../contracts/index.ts';
import type { PresentedCredential } from '../engine/request.ts';
import { hashCredential } from '../keys/hash.ts';
import { seal, unseal } from '../keys/seal.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { splitScope } from './scopes.ts';

// The time until which a grant is needed is rounded up to a multiple of this: an exact time would change with each
// refresh, which costs the update of one more row and one more index.
const EXPIRY_STEP: Seconds = 3600;

// For the difference between the clocks of two nodes.
const CLOCK_MARGIN: Seconds = 60;

/** Finds a credential with its grant, whose client may be another one than the client that presents it. */
export async function findPresented(
  grants: Pick<GrantStore, 'findCredential'>,
  kind: Credential['kind'],
  value: string,
): Promise<PresentedCredential | undefined> {
  const found = await grants.findCredential(kind, hashCredential(value));
  if (!found) return undefined;
  const { resource, scope } = found.credential.payload;
  return { ...found, value, resource: resource as string | undefined, scopes: splitScope(scope) };
}

/**
 * How long a spent credential leads to the current refresh token. The processes of a public client of an API, such as an
 * agent, often share one refresh token without telling each other of the next one.
 */
export function refreshGraceOf(
  { credential: { kind }, resource }: Pick<PresentedCredential, 'credential' | 'resource'>,
  { confidential }: Pick<Client, 'confidential'>,
  { issuer, resources, tokens }: ResolvedOptions,
): Seconds {
  const isShared = kind === 'refresh_token' && !confidential;
  const api = isShared ? resources.get(resource ?? issuer) : undefined;
  return api?.refreshGrace ?? tokens.refreshGrace;
}

/** What a credential is exchanged for. */
export interface TokenExchange {
  /** The refresh token of the response. */
  readonly successor: { readonly value: string; readonly credential: Credential };
  /** When the access token of the response expires. */
  readonly accessTokenExpiresAt: Seconds;
  /** When the login session in which the user has signed in at the client ends at the latest. */
  readonly signedInUntil: Seconds;
  /** See {@link refreshGraceOf}. */
  readonly refreshGrace: Seconds;
}

/** What a credential leads to. */
export interface Followed {
  /** The current refresh token, for the response. `undefined`: it cannot be found from the credential, so that this is a replay. */
  readonly current: string | undefined;
  /** How many refresh tokens of the family are newer than the presented one; without `current`, at least so many. 0: it was not spent before. */
  readonly generations: number;
}

/**
 * Spends a credential and stores the refresh token that it is exchanged for, in one transaction.
 *
 * When another request has spent a credential other than a code in the meantime, this one gets the same successor, which is
 * sealed with a key from the presented token. In any other case a spent credential is `invalid_grant`.
 *
 * When the process dies between the transaction and the response, these two can be sent again within the grace. A code
 * cannot, so the user has to authorize the app again.
 *
 * @throws InvalidGrant of the engine when another request has spent the credential
 */
export async function redeem(
  grants: Pick<GrantStore, 'redeem'>,
  { credential: { id, kind }, grant: { sessionUid }, value }: PresentedCredential,
  { accessTokenExpiresAt, refreshGrace, signedInUntil, successor }: TokenExchange,
): Promise<Followed> {
  // A retry at the end of the grace gets an access token that expires later by the length of the grace.
  const expiresAt = Math.max(
    accessTokenExpiresAt + refreshGrace + CLOCK_MARGIN,
    successor.credential.expiresAt,
    signedInUntil,
  );
  const sealedSuccessor =
    kind !== 'code' && refreshGrace > 0 ? sealSuccessor(successor.value, value) : undefined;
  const redemption = await grants.redeem(
    { kind, id },
    {
      successor: successor.credential,
      neededUntil: Math.ceil(expiresAt / EXPIRY_STEP) * EXPIRY_STEP,
      sealedSuccessor,
      // The client was told of the end of the session, and would sign the user in again. A refresh goes on without a session.
      ...(kind === 'code' && { sessionUid }),
    },
  );
  if (redemption.outcome === 'redeemed') return { current: successor.value, generations: 0 };
  if (
    redemption.outcome === 'spent' &&
    sealedSuccessor !== undefined &&
    redemption.sealedSuccessor !== undefined
  )
    return { current: openSuccessor(redemption.sealedSuccessor, value), generations: 1 };
  throw new errors.InvalidGrant(`${kind} was spent by another request`);
}

// It bounds what one request reads. Of refresh tokens, it is more than `limits.refreshes` allows in an hour on four nodes: more
// generations in one grace are those of a thief, or of a program in a loop. A client that sends another credential again has missed the
// response, and has no refresh token to use; a code is never redeemed again.
const MOST_GENERATIONS = { ofRefreshToken: 256, ofOther: 1 };

/**
 * Finds the current refresh token of the family of a spent credential, which is not a replay: the successor of its successor, and so
 * on, each sealed with a key from the one before. It stays unspent, so that the family has one unspent refresh token at any time.
 *
 * All are read at one moment. When another request spends the current one after it, that one leads to the next in turn.
 *
 * It cannot be found when there are too many, or one of them was pruned or spent without grace. Whoever has stolen a token could make the
 * chain so long that the client's own token is refused and its use is not noticed.
 *
 * @throws InvalidGrant of the engine when the grant was revoked meanwhile, the current one has expired, or the device has used it
 */
export async function findCurrent(
  storage: Pick<Storage, 'confirm' | 'grants'>,
  { credential: { kind, sealedSuccessor }, value: presented }: PresentedCredential,
): Promise<Followed> {
  let value = openSuccessor(sealedSuccessor!, presented);
  const most = kind === 'refresh_token' ? MOST_GENERATIONS.ofRefreshToken : MOST_GENERATIONS.ofOther;
  const chain = await storage.grants.findChain(hashCredential(value), most);
  for (const { credential } of chain.slice(0, -1)) {
    if (credential.sealedSuccessor === undefined) break;
    value = openSuccessor(credential.sealedSuccessor, value);
  }
  const last = chain.at(-1);
  const generations = chain.length;
  if (kind === 'refresh_token' && last?.spentFor !== undefined) return { current: undefined, generations };
  if (!last || last.spentFor !== undefined || last.expiresIn <= 0)
    throw new errors.InvalidGrant(`${kind} was spent, and the current refresh token cannot be found from it`);
  // It may be in none of the standbys yet.
  await storage.confirm();
  return { current: value, generations };
}

/**
 * Whether presenting this credential is a replay, which revokes all tokens of its grant (RFC 6749 section 4.1.2, RFC 9700
 * section 4.14.2), where its kind allows that. A spent code always is. Another spent credential is not within the grace:
 * its client may have missed the response, or another process of the client has received it.
 *
 * @param refreshGrace - see {@link refreshGraceOf}
 */
export function isReplay(
  { credential: { kind, sealedSuccessor }, spentFor }: PresentedCredential,
  refreshGrace: Seconds,
): boolean {
  if (spentFor === undefined) return false;
  return kind === 'code' || sealedSuccessor === undefined || spentFor >= toMilliseconds(refreshGrace);
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
