import { AsyncLocalStorage } from 'node:async_hooks';
import { createPrivateKey, createPublicKey, randomUUID, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

import type { JWK } from 'jose';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { Seconds } from '../contracts/duration.ts';
import type { CompleteLifetimes } from '../clients/lifetimes.ts';
import type { AccessTokenClaims, Client, ClientLifetimes, Storage, User } from '../contracts/index.ts';
import { now } from '../contracts/clock.ts';
import { ConfigError } from '../errors.ts';
import { ExternalSigningKey } from '../engine/oidc-provider.ts';
import type { AuthenticatedTokenRequest } from '../engine/part.ts';
import type { SigningAlgorithm } from '../options/tokens.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';
import { audienceOf, toScope } from './scopes.ts';

/** What an access token says. */
export interface AccessTokenContent {
  readonly client: Client;
  /** For a token of the client for itself: its `StoredClient.sequence` from before the token was issued. */
  readonly sequence: number;
  /** The grant of a user's token. `undefined`: a token of the client for itself. */
  readonly grant: { readonly id: string; readonly user: User } | undefined;
  readonly api: Pick<ResolvedResource, 'resource'>;
  /** `undefined`: not limited to scopes. Empty: limited to none. */
  readonly scopes: readonly string[] | undefined;
  readonly lifetime: Seconds;
}

export type SignAccessToken = (content: AccessTokenContent) => Promise<string>;

/** Makes the function that signs all access tokens of a server: JWTs with the claims of RFC 9068 section 2.2, and those of the host. */
export function createSignAccessToken(
  { issuer, openid, tokens }: ResolvedOptions,
  signingKeys: TokenKeys,
): SignAccessToken {
  return async ({ api, client, grant, lifetime, scopes, sequence }) => {
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
      ...(!grant && sequence > 0 && { revocation_sequence: sequence }),
      ...(grant && { grant_id: grant.id }),
      principal: grant ? 'user' : 'client',
      jti: randomUUID(),
      sub: grant?.user.id ?? client.id,
      iat,
      exp: iat + lifetime,
      ...(named.length > 0 && { scope: named.join(' ') }),
      client_id: client.id,
      iss: issuer,
      aud: audienceOf(scopes, api, openid),
    };
    return signingKeys()[0]!.signJwt(claims, 'at+jwt');
  };
}

/** Names that a claim of the host may not have, because readers of tokens or introspection responses give them a meaning. */
const RESERVED: ReadonlySet<string> = new Set<string>([
  // Claims of this server. The guard refuses a token without them.
  ...'principal grant_id revocation_sequence limited'.split(' '),
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
  const shorter = (name: keyof ClientLifetimes): Seconds =>
    Math.min(lifetimes[name] ?? Infinity, server[name]);
  return {
    accessToken: shorter('accessToken'),
    refreshToken: shorter('refreshToken'),
    refreshTokenAbsolute: shorter('refreshTokenAbsolute'),
  };
}

/** The response with the tokens (RFC 6749 section 5.1, OpenID Connect Core 1.0 section 3.1.3.3). */
export function respond(
  ctx: KoaContextWithOIDC,
  request: AuthenticatedTokenRequest,
  {
    accessToken,
    content,
    hasOfflineAccess,
    idToken,
    refreshToken,
  }: {
    readonly accessToken: string;
    readonly content: AccessTokenContent;
    readonly refreshToken?: string | undefined;
    readonly idToken?: string | undefined;
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
    ...(idToken !== undefined && { id_token: idToken }),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(scope !== undefined && { scope }),
    token_type: 'Bearer',
  };
}

// In the thread pool, so that other requests are answered meanwhile. WebCrypto does so too, and takes twice the CPU time.
const signInThread: (hash: string | undefined, data: Uint8Array, key: KeyObject) => Promise<Buffer> =
  promisify(sign);

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
    if (!this.#isConfirmed) await this.#storage.confirm?.();
    this.#isConfirmed = true;
    const hash = this.#algorithm === 'EdDSA' ? undefined : 'sha256';
    const signature = await outside(signInThread, hash, data, this.#private);
    return this.#algorithm === 'ES256' ? toJws(signature) : signature;
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
