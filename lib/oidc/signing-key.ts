import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { importJWK } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import { ExternalSigningKey } from 'oidc-provider';

import type { SigningAlgorithm } from '../options/options.ts';

// The parameters of WebCrypto. The others of ECDSA and RSA are those of the key.
const PARAMETERS: Readonly<Record<SigningAlgorithm, { readonly name: string; readonly hash?: string }>> = {
  ES256: { name: 'ECDSA', hash: 'SHA-256' },
  RS256: { name: 'RSASSA-PKCS1-v1_5' },
  EdDSA: { name: 'Ed25519' },
};

/**
 * A key that signs access tokens (RFC 7515). It is imported once: the engine would check a JWK, and describe it to WebCrypto, for
 * each token. The engine gets its public part only.
 */
export class SigningKey extends ExternalSigningKey {
  readonly #kid: string;
  readonly #algorithm: SigningAlgorithm;
  readonly #public: KeyObject;
  readonly #private: Promise<CryptoKey>;

  /** @param jwk - a private key, with `kid` and `alg` */
  constructor(jwk: JWK) {
    super();
    this.#kid = jwk.kid!;
    this.#algorithm = jwk.alg as SigningAlgorithm;
    this.#public = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    this.#private = importJWK(jwk) as Promise<CryptoKey>;
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
    const signature = await crypto.subtle.sign(PARAMETERS[this.#algorithm], await this.#private, data);
    return Buffer.from(signature);
  }
}
