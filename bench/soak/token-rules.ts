import { Ending } from './endings.ts';
import type { Known, Family, Open, RefreshToken } from './known.ts';
import type { Begun, Ended, Subject } from './operations.ts';
import type { Verdicts } from './verdicts.ts';

/** In milliseconds. */
export interface CheckerSettings {
  readonly revocationLag: number;
  readonly refreshGrace: number;
  readonly codeLifetime: number;
}

/** An operation of that kind. */
export type BegunAs<K extends Subject['kind']> = Begun & { readonly kind: K };

// In milliseconds: a node compares times of another clock of the same machine, rounded to milliseconds, and for codes to seconds.
const CLOCK_MARGIN = 100;
const CODE_MARGIN = 2000;

/** The rules of codes and tokens. */
export class TokenRules {
  readonly #known: Known;
  readonly #verdicts: Verdicts;
  readonly #settings: CheckerSettings;

  constructor(known: Known, verdicts: Verdicts, settings: CheckerSettings) {
    this.#known = known;
    this.#verdicts = verdicts;
    this.#settings = settings;
  }

  beginExchange(open: Open, { code }: BegunAs<'code exchange'>): void {
    const family = this.#known.families.get(code)!;
    // One of two requests may find the code spent by the other, which revokes what the other gets.
    if (family.wasPresented) {
      for (const other of [open, ...family.exchanges]) mayEnd(family, other, open.begun.at);
    }
    family.wasPresented = true;
    family.exchanges.add(open);
  }

  endExchange(open: Open, begun: BegunAs<'code exchange'>, ended: Ended): void {
    const family = this.#known.families.get(begun.code)!;
    const { codeLifetime } = this.#settings;
    const scopes = this.#known.scopesOf(family);
    family.exchanges.delete(open);
    if (ended.status === 200) {
      open.ending?.settle('none', ended.at);
      if (family.exchangedAt < Infinity)
        this.#verdicts.report('one winner', 'a second answer with tokens', begun, ended);
      if (begun.at >= family.until + codeLifetime + CODE_MARGIN)
        this.#verdicts.report('nothing revived', 'the code had expired', begun, ended);
      this.#verdicts.expectNotEnded(scopes, begun, ended);
      this.#expectNewRefreshToken(begun, ended);
      family.exchangedAt = Math.min(family.exchangedAt, ended.at);
      family.grant ??= ended.owner?.grant;
      this.#takeTokens(family, begun, ended);
    } else if (ended.status === 400) {
      const mayBeExpired = ended.at >= family.from + codeLifetime - CODE_MARGIN;
      this.#verdicts.expectInvalidGrant(begun, ended);
      if (!open.ending && !mayBeExpired) this.#verdicts.expectEnded(scopes, begun, ended);
      const isReplay = family.exchangedAt <= begun.at && !mayBeExpired;
      const hasEnded = isReplay && this.#verdicts.isOnlyEnding(open.ending, scopes, ended.at);
      open.ending?.settle(hasEnded ? 'done' : 'perhaps', ended.at);
    } else {
      open.ending?.settle('perhaps', ended.at);
    }
  }

  beginRefresh(open: Open, begun: BegunAs<'refresh'>): void {
    const token = this.#known.refreshTokens.get(begun.token)!;
    // The grace may end while the request is under way.
    const late = token.firstBegin + this.#settings.refreshGrace - CLOCK_MARGIN;
    if (late < Infinity) mayEnd(token.family, open, Math.max(begun.at, late));
    token.firstBegin = Math.min(token.firstBegin, begun.at);
  }

  endRefresh(open: Open, begun: BegunAs<'refresh'>, ended: Ended): void {
    const token = this.#known.refreshTokens.get(begun.token)!;
    const scopes = this.#known.scopesOf(token.family);
    const isReuse = begun.at >= token.redeemedAt + this.#settings.refreshGrace + CLOCK_MARGIN;
    if (ended.status === 200) {
      open.ending?.settle('none', ended.at);
      if (isReuse) this.#verdicts.report('nothing revived', 'a reuse after the grace', begun, ended);
      this.#verdicts.expectNotEnded(scopes, begun, ended);
      this.#expectOwnRefreshToken(token.family, begun, ended);
      // When its successor was presented too, it leads to a later one.
      const isSuccessorPresented = (this.#successorOf(token)?.firstBegin ?? Infinity) < ended.at;
      if (token.successor !== undefined && token.successor !== ended.refresh && !isSuccessorPresented)
        this.#verdicts.report('one winner', `its successor is ${token.successor}`, begun, ended);
      token.redeemedAt = Math.min(token.redeemedAt, ended.at);
      token.successor ??= ended.refresh;
      this.#takeTokens(token.family, begun, ended);
    } else if (ended.status === 400) {
      this.#verdicts.expectInvalidGrant(begun, ended);
      // Also when its own reuse has ended the family.
      this.#verdicts.expectEnded(scopes, begun, ended);
      const hasEnded = isReuse && this.#verdicts.isOnlyEnding(open.ending, scopes, ended.at);
      open.ending?.settle(hasEnded ? 'done' : 'perhaps', ended.at);
    } else {
      open.ending?.settle('perhaps', ended.at);
    }
  }

  endClientCredentials(begun: BegunAs<'client credentials'>, ended: Ended): void {
    if (ended.status !== 200) return;
    this.#verdicts.expectOwner({ client: begun.client }, begun, ended);
    this.#takeAccessToken(undefined, begun.client, begun, ended);
  }

  endGuarded(begun: BegunAs<'guarded request'>, ended: Ended): void {
    const token = this.#known.accessTokens.get(begun.access)!;
    const lag = this.#settings.revocationLag + CLOCK_MARGIN;
    const scopes = this.#known.scopesOfToken(token, lag);
    if (ended.status === 200) {
      const { family, client } = token;
      this.#verdicts.expectOwner(family ? { user: family.user, client } : { client }, begun, ended);
      this.#verdicts.expectNotEnded(scopes, begun, ended, lag);
    } else if (ended.status === 401) {
      if (ended.error !== 'token_revoked')
        this.#verdicts.report('documented answers', `code ${ended.error}`, begun, ended);
      this.#verdicts.expectEnded(scopes, begun, ended);
    }
  }

  #successorOf({ successor }: RefreshToken): RefreshToken | undefined {
    return successor === undefined ? undefined : this.#known.refreshTokens.get(successor);
  }

  #expectNewRefreshToken(begun: Begun, ended: Ended): void {
    if (ended.refresh !== undefined && this.#known.refreshTokens.has(ended.refresh))
      this.#verdicts.report('own data only', 'the refresh token of another answer', begun, ended);
  }

  #expectOwnRefreshToken(family: Family, begun: Begun, ended: Ended): void {
    const known = ended.refresh === undefined ? undefined : this.#known.refreshTokens.get(ended.refresh);
    if (known && known.family !== family)
      this.#verdicts.report('own data only', 'the refresh token of another authorization', begun, ended);
  }

  #takeTokens(family: Family, begun: Begun, ended: Ended): void {
    const { user, client, grant } = family;
    this.#verdicts.expectOwner({ user, client, grant }, begun, ended);
    this.#takeAccessToken(family, client, begun, ended);
    if (ended.refresh === undefined) {
      this.#verdicts.report('documented answers', 'no refresh token', begun, ended);
    } else if (!this.#known.refreshTokens.has(ended.refresh)) {
      this.#known.refreshTokens.set(ended.refresh, {
        family,
        successor: undefined,
        firstBegin: Infinity,
        redeemedAt: Infinity,
      });
    }
  }

  #takeAccessToken(family: Family | undefined, client: number, begun: Begun, ended: Ended): void {
    const { accessTokens } = this.#known;
    if (ended.access === undefined) {
      this.#verdicts.report('documented answers', 'no access token', begun, ended);
    } else if (accessTokens.has(ended.access)) {
      this.#verdicts.report('own data only', 'the access token of another answer', begun, ended);
    } else {
      accessTokens.set(ended.access, { family, client, endings: undefined, from: begun.at, until: ended.at });
    }
  }
}

/** Records that an operation, if it turns out to be a reuse, ends the family from `at` on. */
function mayEnd({ endings }: Family, open: Open, at: number): void {
  if (open.ending) {
    open.ending.begin = Math.min(open.ending.begin, at);
  } else {
    open.ending = new Ending(open.begun, at);
    endings.push(open.ending);
  }
}
