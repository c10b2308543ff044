import { LRUCache } from 'lru-cache';

import type { Invalidated } from '../tokens/cache-invalidation.ts';
import type { AccessTokenClaims, Principal, User, VerifyAccessToken } from '../contracts/index.ts';
import { isCompactJws, REFUSALS } from './bearer-token.ts';
import type { Refusal } from './bearer-token.ts';
import type { LoadPrincipal } from './principal.ts';

/** What it takes to tell whether a token is good. */
export interface AuthenticatorOptions<P extends string = string, U extends User = User> {
  readonly verify: VerifyAccessToken;
  /** Whether the token is good still: neither revoked, nor its grant, its user or its client ended. */
  readonly stands: (claims: AccessTokenClaims) => Promise<boolean>;
  readonly loadPrincipal: LoadPrincipal<P, U>;
  /**
   * Seconds for which a user, a client, their permissions and "not revoked" are taken as they were last read.
   * @default 5
   */
  readonly revocationLag?: number;
  /** How many tokens are remembered; each takes about 2 kB. @default 10000 */
  readonly cacheSize?: number;
  /** The time in milliseconds. @default Date.now */
  readonly now?: () => number;
}

/** Remembers good tokens, so that each is verified once and its holder is read once per `revocationLag`. */
export interface Authenticator<P extends string = string, U extends User = User> {
  /** The token, if it is known to be good as of now. One look-up in memory. */
  recall(token: string): KnownToken<P, U> | undefined;
  /** Verifies the token, or reads its holder again. Requests that come with the same token meanwhile share the answer. */
  authenticate(token: string): Promise<KnownToken<P, U> | Refusal>;
  /** Forgets tokens at once; without a match, all of them, as when a signing key is withdrawn. */
  forget(match?: Invalidated): void;
}

export function createAuthenticator<P extends string, U extends User>(
  options: AuthenticatorOptions<P, U>,
): Authenticator<P, U> {
  const { verify, stands, loadPrincipal, revocationLag = 5, cacheSize = 10_000 } = options;
  // Looked up each time: tests replace the clock.
  const { now = () => Date.now() } = options;
  const lag = revocationLag * 1000;
  const cache = new TokenCache<P, U>(cacheSize);
  const underway = new Map<string, Promise<KnownToken<P, U> | Refusal>>();

  async function load(token: string): Promise<KnownToken<P, U> | Refusal> {
    const loadedAt = now();
    const claims = cache.get(token)?.claims ?? (await verify(token));
    if (!claims) return REFUSALS.invalid;
    const expiresAt = claims.exp * 1000;
    if (expiresAt <= loadedAt) return REFUSALS.invalid;
    const [isGood, principal] = await Promise.all([stands(claims), loadPrincipal(claims)]);
    if (!principal) return REFUSALS.gone;
    if (!isGood) return REFUSALS.revoked;
    return { token, claims, principal, loadedAt, expiresAt };
  }

  async function loadOnce(token: string): Promise<KnownToken<P, U> | Refusal> {
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
      return known;
    },
    async authenticate(token) {
      if (!isCompactJws(token)) return REFUSALS.malformed;
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
}

/** Good tokens, the least recently used of which goes first. Bad ones are never put in, so strangers cannot fill it. */
export class TokenCache<P extends string = string, U extends User = User> {
  readonly #tokens: LRUCache<string, KnownToken<P, U>>;

  constructor(capacity: number) {
    this.#tokens = new LRUCache({ max: capacity });
  }

  get size(): number {
    return this.#tokens.size;
  }

  get(token: string): KnownToken<P, U> | undefined {
    const known = this.#tokens.get(keyOf(token));
    return known?.token === token ? known : undefined;
  }

  set(known: KnownToken<P, U>): void {
    this.#tokens.set(keyOf(known.token), known);
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
    const found = [...this.#tokens].filter(
      ([, { claims, principal }]) =>
        claims.jti === tokenId ||
        (grantId !== undefined && claims.grant_id === grantId) ||
        (userId !== undefined && userId === holderOf(claims, principal)) ||
        claims.client_id === clientId,
    );
    for (const [key] of found) this.#tokens.delete(key);
  }
}

/** The user on whom it depends what the token may do: of a client's, its owner. */
function holderOf(claims: AccessTokenClaims, { client }: Principal): string | undefined {
  return claims.principal === 'user' ? claims.sub : client.ownerId;
}

// The cache hashes its whole key on every look-up, which for a token is most of what the guard costs. The end of a token is
// the end of its signature, unlike that of any other; the comparison with the whole token decides.
function keyOf(token: string): string {
  return token.slice(-64);
}
