import { toMilliseconds, toSeconds } from '../contracts/duration.ts';
import type {
  AccessTokenClaims,
  ChallengedApi,
  Milliseconds,
  Principal,
  Seconds,
  StoredChange,
  TokenRefusal,
  User,
  VerifyAccessToken,
} from '../contracts/index.ts';
import type { ResolvedResource } from '../options/resolved-options.ts';
import { isCompactJws } from '../token/verify-access-token.ts';
import { AUTH_FAILURES, failureOf } from './challenge.ts';
import type { AuthFailure } from './challenge.ts';
import type { LoadPrincipal } from './principal.ts';

/** What `createAuthenticator()` takes. */
export interface AuthenticatorOptions<P extends string = string, U extends User = User> {
  readonly verify: VerifyAccessToken;
  readonly issuer: string;
  /** The API that the tokens are for. */
  readonly api: Pick<ChallengedApi, 'resource'>;
  readonly loadPrincipal: LoadPrincipal<P, U>;
  /** Other forms of tokens. @default they are malformed tokens */
  readonly forms?: readonly GuardedForm[];
  /** How long a cached user or client, its permissions and the revocation status are used before they are read again. */
  readonly revocationLag: Seconds;
  /** How many tokens are cached. */
  readonly cachedTokens: number;
  /** @default Date.now */
  readonly now?: () => Milliseconds;
}

/** Caches active tokens, so that each is verified once and its user or client is read once per `tokens.revocationLag`. */
export interface Authenticator<P extends string = string, U extends User = User> {
  /** The token, if it is cached and was read within `tokens.revocationLag`. One Map lookup. */
  findCached(token: string): VerifiedToken<P, U> | undefined;
  /** Verifies the token, or reads its user or client again. Concurrent requests with the same token share the result. */
  authenticate(token: string): Promise<VerifiedToken<P, U> | AuthFailure>;
  /** Removes the matching tokens from the cache or, without a match, all tokens, such as when a signing key is withdrawn. */
  forget(match?: StoredChange): void;
}

export function createAuthenticator<P extends string, U extends User>(
  options: AuthenticatorOptions<P, U>,
): Authenticator<P, U> {
  const { api, forms = [], issuer, verify, loadPrincipal, revocationLag, cachedTokens } = options;
  // `Date.now` is read at each call, because tests replace it.
  const { now = () => Date.now() } = options;
  const lag = toMilliseconds(revocationLag);
  const cache = new TokenCache<P, U>(cachedTokens);
  const pending = new Map<string, Promise<VerifiedToken<P, U> | AuthFailure>>();

  async function loadOfForm(token: string, read: LoadToken): Promise<VerifiedToken<P, U> | AuthFailure> {
    const startedAt = now();
    const loaded = (await read(token, toSeconds(startedAt))) as LoadedToken<P, U> | AuthFailure;
    return 'principal' in loaded ? toVerified(token, loaded, startedAt) : loaded;
  }

  async function loadAccessToken(token: string): Promise<VerifiedToken<P, U> | AuthFailure> {
    const startedAt = now();
    let why: TokenRefusal | undefined;
    const claims =
      cache.get(token)?.claims ??
      (await verify(token, (refusal) => {
        why = refusal;
      }));
    if (!claims) return failureOf(why, api.resource, issuer);
    const { exp: expiresAt } = claims;
    if (toMilliseconds(expiresAt) <= startedAt) return AUTH_FAILURES.expired;
    const loaded = await loadPrincipal(claims);
    if (!('principal' in loaded)) return loaded;
    const { principal, readAt = startedAt } = loaded;
    const subject = {
      tokenId: claims.jti,
      grantId: claims.grant_id,
      // The user whose permissions limit the token: its own user, or the owner of a client that acts for itself.
      userId: claims.principal === 'user' ? claims.sub : principal.client?.ownerId,
      clientId: claims.client_id,
    };
    // A cached client is not used for longer in a cached principal.
    return toVerified(token, { claims, subject, principal, expiresAt }, Math.min(startedAt, readAt));
  }

  function toVerified(token: string, loaded: LoadedToken<P, U>, loadedAt: Milliseconds): VerifiedToken<P, U> {
    const usableUntil = Math.min(loadedAt + lag, toMilliseconds(loaded.expiresAt));
    return { ...loaded, token, loadedAt, usableUntil, visited: false };
  }

  async function loadOnce(
    token: string,
    loading: Promise<VerifiedToken<P, U> | AuthFailure>,
  ): Promise<VerifiedToken<P, U> | AuthFailure> {
    pending.set(token, loading);
    try {
      const result = await loading;
      // `forget()` has cleared the map: something was revoked in the meantime, and this result may predate it.
      if (pending.get(token) === loading) {
        if ('principal' in result) cache.set(result);
        else cache.delete(token);
      }
      return result;
    } finally {
      if (pending.get(token) === loading) pending.delete(token);
    }
  }

  return {
    findCached(token) {
      const known = cache.get(token);
      if (known === undefined) return undefined;
      const time = now();
      // When the time is before the load, the clock was set back, and the real age is unknown.
      if (time < known.loadedAt || time >= known.usableUntil) return undefined;
      known.visited = true;
      return known;
    },
    async authenticate(token) {
      const known = pending.get(token);
      if (known) return known;
      const form = forms.find((one) => one.isWellFormed(token));
      if (form) return loadOnce(token, loadOfForm(token, form.load));
      return isCompactJws(token) ? loadOnce(token, loadAccessToken(token)) : AUTH_FAILURES.malformed;
    },
    forget(match) {
      cache.forget(match);
      pending.clear();
    },
  };
}

/** An active token and its principal. */
export interface VerifiedToken<P extends string = string, U extends User = User> extends LoadedToken<P, U> {
  readonly token: string;
  /** When the read of the principal began: the principal includes every earlier change. */
  readonly loadedAt: Milliseconds;
  /** The time when the token expires, or `tokens.revocationLag` after it was loaded if that is earlier. */
  readonly usableUntil: Milliseconds;
  /** Set on each use; cleared when the entry is considered for eviction and stays. */
  visited: boolean;
}

/** The result of loading a token. */
export interface LoadedToken<P extends string = string, U extends User = User> {
  /** `undefined` for a token of another form. */
  readonly claims?: AccessTokenClaims;
  /** The ids by which a change concerns this token. */
  readonly subject: StoredChange;
  readonly principal: Principal<P, U>;
  readonly expiresAt: Seconds;
  /** Called with the address of each request, where uses are recorded. */
  readonly onUse?: (address: string) => void;
}

/** The API of a guard. */
export type GuardedApi = ChallengedApi & Pick<ResolvedResource, 'scopes'>;

/** Loads a token that is well-formed. @param at - the time by which the token must not have expired */
export type LoadToken = (token: string, at: Seconds) => Promise<LoadedToken | AuthFailure>;

/** Another form of tokens at the guard of an API. `load` may refuse all of them, such as when the feature is off. */
export interface GuardedForm {
  /** Whether a text can be a token of this form. */
  isWellFormed(text: string): boolean;
  readonly load: LoadToken;
}

/**
 * A bounded cache of active tokens. Invalid tokens are never added, so unauthenticated requests cannot evict valid entries.
 *
 * Eviction is "second chance": the oldest entry is removed, unless it was used since the last time it was considered. That
 * comes close to least recently used, without a Map write on each lookup.
 */
class TokenCache<P extends string = string, U extends User = User> {
  readonly #tokens = new Map<string, VerifiedToken<P, U>>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#tokens.size;
  }

  get(token: string): VerifiedToken<P, U> | undefined {
    const known = this.#tokens.get(cacheKey(token));
    return known?.token === token ? known : undefined;
  }

  set(known: VerifiedToken<P, U>): void {
    const key = cacheKey(known.token);
    if (!this.#tokens.has(key)) this.#evict();
    this.#tokens.set(key, known);
  }

  delete(token: string): void {
    if (this.get(token)) this.#tokens.delete(cacheKey(token));
  }

  /** Removes the matching tokens, or all tokens. */
  forget(match: StoredChange | undefined): void {
    if (match === undefined) {
      this.#tokens.clear();
      return;
    }
    for (const [key, { subject }] of this.#tokens) {
      if (SUBJECTS.some((name) => match[name] !== undefined && match[name] === subject[name]))
        this.#tokens.delete(key);
    }
  }

  #evict(): void {
    // An entry that was used moves to the end and loses its mark. If every entry was used, this loop reaches it again.
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

const SUBJECTS = ['tokenId', 'grantId', 'userId', 'clientId'] as const;

// A Map hashes its whole key on every lookup, which for a whole token is most of the guard's cost. The last characters of a
// token are those of its signature and differ between tokens; the comparison with the whole token decides.
function cacheKey(token: string): string {
  return token.slice(-64);
}
