// `hash` not by its name, as in lib/keys/hash.ts.
import crypto, { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { errors } from 'oidc-provider';

import { now } from '../contracts/clock.ts';
import type { Credential, CredentialStore, Grant } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';
import type { ResolvedOptions } from '../options/options.ts';

// In seconds. When the last token of a grant expires is noted in whole ones of these: moved with each refresh, it would be
// another row and another index to write.
const STEP = 3600;

// In seconds: clocks of nodes differ.
const MARGIN = 60;

export type RedemptionSettings = Pick<ResolvedOptions, 'lifetimes' | 'refreshGrace'>;

/** A code or refresh token that a request presents, to redeem it, to give it back or to ask about it. */
export class PresentedCredential {
  readonly kind: Credential['kind'];
  /** That of its row. */
  readonly id: string;
  /** What the client has sent. */
  readonly value: string;
  readonly expiresAt: number;
  /** A live code whose client has to know a secret of that one authorization (RFC 7636). */
  readonly needsVerifier: boolean;
  /** What it was issued for; of any client, also of another one than presents it. */
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
    this.needsVerifier =
      kind === 'code' &&
      payload['codeChallenge'] !== undefined &&
      consumedAt === undefined &&
      expiresAt > now();
  }

  /** The engine has checked all that it checks of it. */
  accept(): void {
    this.#isAccepted = true;
  }

  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  /** Inside the grace: the refresh token that it was exchanged for before, to be answered instead of a new one. */
  get successor(): string | undefined {
    return this.#successor;
  }

  /**
   * Spends it and keeps the refresh token that it is exchanged for.
   *
   * Whoever comes second within the grace gets the successor that the first one got, because only who presents the same refresh
   * token can open it; everybody else who comes second gets `invalid_grant`.
   *
   * A process that dies afterwards, before it has answered, leaves a refresh token whose successor is still to be had, or a
   * code whose tokens nobody has: a code is good for one answer, so the person authorizes the app again.
   */
  async redeem(
    credentials: Pick<CredentialStore, 'redeem'>,
    { lifetimes, refreshGrace }: RedemptionSettings,
    successor?: { readonly value: string; readonly credential: Credential },
  ): Promise<void> {
    // A retry within the grace gets an access token that expires so much later.
    const expiresAt = Math.max(
      now() + lifetimes.accessToken + refreshGrace + MARGIN,
      successor?.credential.expiresAt ?? 0,
    );
    const replayable = successor !== undefined && this.kind === 'refresh_token' && refreshGrace > 0;
    const spent = { kind: this.kind, id: this.id };
    const redemption = await credentials.redeem(spent, {
      at: Date.now(),
      successor: successor?.credential,
      neededUntil: Math.ceil(expiresAt / STEP) * STEP,
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
 * Whether a credential is presented once more that was spent, so that its family has to end (RFC 6749 section 4.1.2, RFC 9700
 * section 4.14.2). A code always is. A refresh token is not while a client may not have had the answer: within the grace, and only
 * until its successor is used, which proves that somebody had it.
 */
export async function isReplay(
  credentials: Pick<CredentialStore, 'find'>,
  { consumedAt, kind, sealedSuccessor }: Credential,
  { value, settings }: { value: string; settings: RedemptionSettings },
): Promise<boolean> {
  if (consumedAt === undefined) return false;
  if (kind === 'code' || sealedSuccessor === undefined) return true;
  if (Date.now() - consumedAt >= settings.refreshGrace * 1000) return true;
  const successor = await credentials.find(kind, hashCredential(openSuccessor(sealedSuccessor, value)));
  return successor === undefined || successor.credential.consumedAt !== undefined;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/**
 * Seals a refresh token so that only who presents the one before it can open it. What rests in the storage is useless
 * by itself: the key comes from the presented token, of which the storage holds only a hash.
 */
function sealSuccessor(successor: string, presented: string): string {
  const nonce = randomBytes(NONCE_LENGTH);
  const cipher = createCipheriv(ALGORITHM, keyFrom(presented), nonce);
  return Buffer.concat([
    nonce,
    cipher.update(successor, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]).toString('base64url');
}

/** Opens what {@link sealSuccessor} sealed. Throws when the presented token is not the one it was sealed for. */
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

// The one-step key derivation of NIST SP 800-56C revision 2 (section 4.1, option 1): the presented token has 256 bits of
// randomness, so nothing has to be extracted from it first, and one block is all that is needed.
function keyFrom(presented: string): KeyObject {
  // Of a buffer, Node finds out by an exception inside that it is no key, which costs three times what sealing does.
  return createSecretKey(crypto.hash('sha256', `\0\0\0\u0001${presented}${INFO}`, 'buffer'));
}

const INFO = 'koa-gatehouse refresh token successor';
