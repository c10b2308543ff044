// `hash` through the default export, as in lib/keys/hash.ts.
import crypto, { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { errors } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { Credential, CredentialStore, Grant } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

// In seconds. The time until which a grant is needed is rounded up to a multiple of this: an exact time would change with each
// refresh, which costs the update of one more row and one more index.
const EXPIRY_STEP = 3600;

// In seconds, for the difference between the clocks of two nodes.
const CLOCK_MARGIN = 60;

export type RedemptionSettings = Pick<ResolvedOptions, 'lifetimes' | 'refreshGrace'>;

/** A code, device code or refresh token that a request presents in order to redeem, revoke or introspect it. */
export class PresentedCredential {
  readonly kind: Credential['kind'];
  /** The id of its row. */
  readonly id: string;
  /** The value that the client sent. */
  readonly value: string;
  readonly expiresAt: number;
  /** The API that it was granted for. */
  readonly resource: string | undefined;
  /** Whether it is an unspent, unexpired code that requires a PKCE verifier (RFC 7636). */
  readonly needsVerifier: boolean;
  /** Its grant. The grant's client may be another one than the client that presents the credential. */
  readonly grant: Grant;
  #isAccepted = false;
  #successor: string | undefined;

  constructor(
    value: string,
    { credential, grant }: { readonly credential: Credential; readonly grant: Grant },
  ) {
    const { consumedAt, expiresAt, id, kind, payload } = credential;
    this.kind = kind;
    this.id = id;
    this.value = value;
    this.expiresAt = expiresAt;
    this.grant = grant;
    this.resource = payload['resource'] as string | undefined;
    this.needsVerifier =
      kind === 'code' &&
      payload['codeChallenge'] !== undefined &&
      consumedAt === undefined &&
      expiresAt > now();
  }

  /** Records that all checks of the engine have passed. */
  accept(): void {
    this.#isAccepted = true;
  }

  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  /** The refresh token that it was exchanged for by an earlier request within the grace; the response contains it again. */
  get successor(): string | undefined {
    return this.#successor;
  }

  /**
   * Spends the credential and stores the refresh token that it is exchanged for, in one transaction.
   *
   * When a refresh token or a device code was spent within the grace, the request gets the successor that the first request got:
   * the successor is sealed with a key from the presented token. In any other case a spent credential is `invalid_grant`.
   *
   * When the process dies between the transaction and the response, these two can be sent again within the grace. A code
   * cannot, so the user has to authorize the app again.
   *
   * @throws InvalidGrant of the engine when another request has spent the credential
   */
  async redeem(
    credentials: Pick<CredentialStore, 'redeem'>,
    { lifetimes, refreshGrace }: RedemptionSettings,
    successor?: { readonly value: string; readonly credential: Credential },
  ): Promise<void> {
    // A retry at the end of the grace gets an access token that expires later by the length of the grace.
    const expiresAt = Math.max(
      now() + lifetimes.accessToken + refreshGrace + CLOCK_MARGIN,
      successor?.credential.expiresAt ?? 0,
    );
    const replayable = successor !== undefined && this.kind !== 'code' && refreshGrace > 0;
    const spent = { kind: this.kind, id: this.id };
    const redemption = await credentials.redeem(spent, {
      at: Date.now(),
      successor: successor?.credential,
      neededUntil: Math.ceil(expiresAt / EXPIRY_STEP) * EXPIRY_STEP,
      sealedSuccessor: replayable ? sealSuccessor(successor.value, this.value) : undefined,
    });
    if (redemption.outcome === 'spent' && replayable && redemption.sealedSuccessor !== undefined) {
      this.#successor = openSuccessor(redemption.sealedSuccessor, this.value);
    } else if (redemption.outcome !== 'redeemed') {
      throw new errors.InvalidGrant(`${this.kind} was spent by another request`);
    }
  }
}

/**
 * Whether presenting this credential is a replay, which revokes all tokens of its grant (RFC 6749 section 4.1.2, RFC 9700
 * section 4.14.2), unless it is a device code. A spent code always is. A spent refresh token or device code is not while the client may have missed the response: within
 * the grace, and until its successor is used, which proves that the response arrived.
 */
export async function isReplay(
  credentials: Pick<CredentialStore, 'find'>,
  { consumedAt, kind, sealedSuccessor }: Credential,
  { value, settings }: { value: string; settings: RedemptionSettings },
): Promise<boolean> {
  if (consumedAt === undefined) return false;
  if (kind === 'code' || sealedSuccessor === undefined) return true;
  if (Date.now() - consumedAt >= settings.refreshGrace * 1000) return true;
  const id = hashCredential(openSuccessor(sealedSuccessor, value));
  const successor = await credentials.find('refresh_token', id);
  return successor === undefined || successor.credential.consumedAt !== undefined;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/**
 * Encrypts a refresh token with a key derived from the token that it replaces. The storage contains only a hash of the latter,
 * so the sealed value cannot be opened with the contents of the storage.
 */
function sealSuccessor(successor: string, presented: string): string {
  // Of both tokens, so that each successor that is sealed with the same key has another one. Random bytes would cost five times
  // as much: Node asks the operating system for them each time.
  const nonce = hashed(`\0\0\0\u0002${presented}${successor}${INFO}`).subarray(0, NONCE_LENGTH);
  const cipher = createCipheriv(ALGORITHM, keyFrom(presented), nonce);
  return Buffer.concat([
    nonce,
    cipher.update(successor, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]).toString('base64url');
}

/** Decrypts the result of {@link sealSuccessor}. @throws Error when the presented token is another one */
function openSuccessor(sealed: string, presented: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(ALGORITHM, keyFrom(presented), bytes.subarray(0, NONCE_LENGTH), {
    authTagLength: TAG_LENGTH,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_LENGTH));
  return Buffer.concat([
    decipher.update(bytes.subarray(NONCE_LENGTH, -TAG_LENGTH)),
    decipher.final(),
  ]).toString('utf8');
}

// The one-step key derivation of NIST SP 800-56C revision 2 (section 4.1, option 1), with one block. No extraction step is
// needed, because the presented token has 256 random bits.
function keyFrom(presented: string): KeyObject {
  // A KeyObject, because for a Buffer Node first fails to read it as a key, with an internal exception that costs three times
  // as much as the encryption.
  return createSecretKey(hashed(`\0\0\0\u0001${presented}${INFO}`));
}

function hashed(text: string): Buffer {
  return crypto.hash('sha256', text, 'buffer');
}

const INFO = 'koa-gatehouse refresh token successor';
