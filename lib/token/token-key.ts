import { AsyncLocalStorage } from 'node:async_hooks';
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

import type { JWK } from 'jose';

import type { Storage } from '../contracts/index.ts';
import { ExternalSigningKey } from '../engine/oidc-provider.ts';
import type { SigningAlgorithm } from '../options/tokens.ts';

// In the thread pool, so that other requests are answered meanwhile. WebCrypto does so too, and takes twice the CPU time for a
// signature, and half as much again for its verification.
const signInThread: (hash: string | undefined, data: Uint8Array, key: KeyObject) => Promise<Buffer> =
  promisify(sign);
const verifyInThread: (
  hash: string | undefined,
  data: Uint8Array,
  key: KeyObject,
  signature: Uint8Array,
) => Promise<boolean> = promisify(verify);

// A job in the thread pool keeps the asynchronous context that it was begun in, and so the whole request, until the next full collection.
const outside = AsyncLocalStorage.snapshot();

/**
 * Converts an ECDSA signature with P-256 from DER, as node:crypto makes it, into the form of a JWS: two numbers of 32 bytes each
 * (RFC 7518 section 3.4). `dsaEncoding` does it too, and takes as long as the signature.
 */
function toJws(der: Buffer): Buffer {
  const signature = Buffer.alloc(64);
  const firstEnd = 4 + der[3]!;
  // A zero precedes a number that would be negative otherwise; one that begins with zeros is shorter.
  const first = der.subarray(4, firstEnd).subarray(-32);
  const second = der.subarray(firstEnd + 2).subarray(-32);
  signature.set(first, 32 - first.length);
  signature.set(second, 64 - second.length);
  return signature;
}

/** The reverse. */
function toDer(signature: Buffer): Buffer {
  const numbers = Buffer.concat([toInteger(signature.subarray(0, 32)), toInteger(signature.subarray(32))]);
  return Buffer.concat([Buffer.from([0x30, numbers.length]), numbers]);
}

/** An INTEGER in DER: without leading zeros, except one in front of what would be negative otherwise. */
function toInteger(number: Buffer): Buffer {
  const start = number.findIndex((byte) => byte !== 0);
  const digits = number.subarray(start === -1 ? 31 : start);
  const zeros = digits[0]! < 0x80 ? [] : [0];
  return Buffer.from([2, zeros.length + digits.length, ...zeros, ...digits]);
}

/**
 * A key that signs access tokens or ID tokens (RFC 7515). It is imported once: jose and the engine would check a JWK for each token.
 * The engine gets its public part only, and signs with it what a grant type of the host issues.
 */
export class TokenKey extends ExternalSigningKey {
  readonly #kid: string;
  readonly #algorithm: SigningAlgorithm;
  readonly #public: KeyObject;
  readonly #private: KeyObject;

  readonly #storage: Pick<Storage, 'confirm'>;
  #isConfirmed = false;

  /**
   * @param jwk - a private key, with `kid` and `alg`
   * @param storage - which has the key
   */
  constructor(jwk: JWK, storage: Pick<Storage, 'confirm'>) {
    super();
    this.#storage = storage;
    this.#kid = jwk.kid!;
    this.#algorithm = jwk.alg as SigningAlgorithm;
    this.#public = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    this.#private = createPrivateKey({ key: { ...jwk }, format: 'jwk' });
  }

  override get kid(): string {
    return this.#kid;
  }

  override get alg(): SigningAlgorithm {
    return this.#algorithm;
  }

  override keyObject(): KeyObject {
    return this.#public;
  }

  override async sign(data: Uint8Array): Promise<Buffer> {
    // Once: adding the key may have failed because it is not known whether it lasts. When it is lost, so are all of its tokens.
    if (!this.#isConfirmed) await this.#storage.confirm();
    this.#isConfirmed = true;
    const signature = await outside(signInThread, this.#hash, data, this.#private);
    return this.#algorithm === 'ES256' ? toJws(signature) : signature;
  }

  /** Whether a signature of a JWS is that of this key. */
  async verify(data: Uint8Array, signature: Buffer): Promise<boolean> {
    if (this.#algorithm !== 'ES256')
      return outside(verifyInThread, this.#hash, data, this.#public, signature);
    if (signature.length !== 64) return false;
    return outside(verifyInThread, this.#hash, data, this.#public, toDer(signature));
  }

  get #hash(): string | undefined {
    return this.#algorithm === 'EdDSA' ? undefined : 'sha256';
  }

  /** A JWT in compact form. @param typ - the media type in its header, such as `at+jwt` */
  async signJwt(claims: object, typ: string): Promise<string> {
    const header = Buffer.from(JSON.stringify({ alg: this.#algorithm, typ, kid: this.#kid }));
    const signed = `${header.toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
    const signature = await this.sign(Buffer.from(signed));
    return `${signed}.${signature.toString('base64url')}`;
  }
}

/** The keys of a server. The first one signs; another list when they have changed. */
export type TokenKeys = () => readonly TokenKey[];
