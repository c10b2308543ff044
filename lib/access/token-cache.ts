import type { AccessTokenClaims, Principal, User } from '../contracts.ts';

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

/** What to forget: tokens for which any of the members given is true. Forgetting too much costs a look-up, no more. */
export interface TokenMatch {
  /** The `jti` of a token. Its text would not do: who has an ES256 token can give it another signature that is right too. */
  readonly tokenId?: string | undefined;
  readonly grantId?: string | undefined;
  /** A user, through whatever client, and the clients that they own. */
  readonly userId?: string | undefined;
  /** A client, for itself and for users. */
  readonly clientId?: string | undefined;
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
  forget(match: TokenMatch | undefined): void {
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
