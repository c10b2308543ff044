import type { Invalidated } from '../tokens/cache-invalidation.ts';
import type { AccessTokenClaims, Principal, User, VerifyAccessToken } from '../contracts/index.ts';
import { isCompactJws, AUTH_FAILURES } from './bearer-token.ts';
import type { AuthFailure } from './bearer-token.ts';
import type { LoadPrincipal } from './principal.ts';

/** What it takes to tell whether a token is good. */
export interface AuthenticatorOptions<P extends string = string, U extends User = User> {
  readonly verify: VerifyAccessToken;
  /** Whether the token is good still: neither revoked, nor its grant, its user or its client ended. */
  readonly stands: (claims: AccessTokenClaims) => Promise<boolean>;
  readonly loadPrincipal: LoadPrincipal<P, U>;
  /** Seconds for which a user, a client, their permissions and "not revoked" are taken as they were last read. */
  readonly revocationLag: number;
  /** How many tokens are remembered; each takes about 2 kB. @default 10000 */
  readonly cacheSize?: number;
  /** The time in milliseconds. @default Date.now */
  readonly now?: () => number;
}

/** Remembers good tokens, so that each is verified once and its holder is read once per `revocationLag`. */
export interface Authenticator<P extends string = string, U extends User = User> {
  /** The token, if it is known to be good as of now. One Map look-up. */
  recall(token: string): KnownToken<P, U> | undefined;
  /** Verifies the token, or reads its holder again. Requests that come with the same token meanwhile share the answer. */
  authenticate(token: string): Promise<KnownToken<P, U> | AuthFailure>;
  /** Forgets tokens at once; without a match, all of them, as when a signing key is withdrawn. */
  forget(match?: Invalidated): void;
}

export function createAuthenticator<P extends string, U extends User>(
  options: AuthenticatorOptions<P, U>,
): Authenticator<P, U> {
  const { verify, stands, loadPrincipal, revocationLag, cacheSize = 10_000 } = options;
  // Looked up each time: tests replace the clock.
  const { now = () => Date.now() } = options;
  const lag = revocationLag * 1000;
  const cache = new TokenCache<P, U>(cacheSize);
  const underway = new Map<string, Promise<KnownToken<P, U> | AuthFailure>>();

  async function load(token: string): Promise<KnownToken<P, U> | AuthFailure> {
    const loadedAt = now();
    const claims = cache.get(token)?.claims ?? (await verify(token));
    if (!claims) return AUTH_FAILURES.invalid;
    const expiresAt = claims.exp * 1000;
    if (expiresAt <= loadedAt) return AUTH_FAILURES.invalid;
    const [isGood, principal] = await Promise.all([stands(claims), loadPrincipal(claims)]);
    if (!principal) return AUTH_FAILURES.gone;
    if (!isGood) return AUTH_FAILURES.revoked;
    return { token, claims, principal, loadedAt, expiresAt, visited: false };
  }

  async function loadOnce(token: string): Promise<KnownToken<P, U> | AuthFailure> {
    const loading = load(token);
    underway.set(token, loading);
    try {
      const result = await loading;
      // Not there any more: something was revoked meanwhile, and this answer may be from before.
      if (underway.get(token) === loading) {
        if ('claims' in result) cache.set(result);
        else cache.delete(token);
      }
      return result;
    } finally {
      if (underway.get(token) === loading) underway.delete(token);
    }
  }

  return {
    recall(token) {
      const known = cache.get(token);
      if (known === undefined) return undefined;
      const time = now();
      const age = time - known.loadedAt;
      // A negative age: the clock was set back, and nobody knows how old this is.
      if (age < 0 || age >= lag || time >= known.expiresAt) return undefined;
      known.visited = true;
      return known;
    },
    async authenticate(token) {
      if (!isCompactJws(token)) return AUTH_FAILURES.malformed;
      return underway.get(token) ?? loadOnce(token);
    },
    forget(match) {
      cache.forget(match);
      underway.clear();
    },
  };
}

/** A token that was found good, and who it speaks for. Times in milliseconds. */
export interface KnownToken<P extends string = string, U extends User = User> {
  readonly token: string;
  readonly claims: AccessTokenClaims;
  readonly principal: Principal<P, U>;
  /** When the loading of the principal began: what changed before that is in it. */
  readonly loadedAt: number;
  readonly expiresAt: number;
  /** Set on use, cleared when it is spared from eviction. */
  visited: boolean;
}

/**
 * A bounded memory of good tokens. Bad ones are never put in, so strangers cannot fill it.
 *
 * The oldest entry goes first, unless it was used since it was last spared ("second chance"): close to least recently
 * used, while a look-up moves nothing.
 */
export class TokenCache<P extends string = string, U extends User = User> {
  readonly #tokens = new Map<string, KnownToken<P, U>>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#tokens.size;
  }

  get(token: string): KnownToken<P, U> | undefined {
    const known = this.#tokens.get(keyOf(token));
    return known?.token === token ? known : undefined;
  }

  set(known: KnownToken<P, U>): void {
    const key = keyOf(known.token);
    if (!this.#tokens.has(key)) this.#makeRoom();
    this.#tokens.set(key, known);
  }

  delete(token: string): void {
    if (this.get(token)) this.#tokens.delete(keyOf(token));
  }

  /** Drops the matching tokens, or all of them. */
  forget(match: Invalidated | undefined): void {
    if (match === undefined) {
      this.#tokens.clear();
      return;
    }
    const { tokenId, grantId, userId, clientId } = match;
    for (const [key, { claims, principal }] of this.#tokens) {
      if (
        claims.jti === tokenId ||
        (grantId !== undefined && claims.grant_id === grantId) ||
        (userId !== undefined && userId === holderOf(claims, principal)) ||
        claims.client_id === clientId
      ) {
        this.#tokens.delete(key);
      }
    }
  }

  #makeRoom(): void {
    // An entry that is spared goes to the end, where this same loop would find it again, no longer marked.
    for (const [key, known] of this.#tokens) {
      if (this.#tokens.size < this.#capacity) return;
      this.#tokens.delete(key);
      if (known.visited) {
        known.visited = false;
        this.#tokens.set(key, known);
      }
    }
  }
}

/** The user on whom it depends what the token may do: of a client's, its owner. */
function holderOf(claims: AccessTokenClaims, { client }: Principal): string | undefined {
  return claims.principal === 'user' ? claims.sub : client.ownerId;
}

// A Map hashes its whole key on every look-up, which for a token is most of what the guard costs. The end of a token is
// the end of its signature, unlike that of any other; the comparison with the whole token decides.
function keyOf(token: string): string {
  return token.slice(-64);
}
