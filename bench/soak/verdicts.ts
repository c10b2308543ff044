import { certainEnding, possibleEndings } from './endings.ts';
import type { Ending, Scope } from './endings.ts';
import type { Begun, Ended, Owner } from './operations.ts';

export type Rule = 'one winner' | 'nothing lost' | 'nothing revived' | 'own data only' | 'documented answers';

export interface Violation {
  readonly rule: Rule;
  readonly what: string;
  readonly begun: Begun;
  readonly ended: Ended;
}

// The count goes on.
const MOST_KEPT = 100;

/** Compares answers with what must be, and keeps those that are wrong. */
export class Verdicts {
  /** In milliseconds. */
  readonly #revocationLag: number;
  /** The first ones. */
  readonly violations: Violation[] = [];
  violationCount = 0;

  constructor(revocationLag: number) {
    this.#revocationLag = revocationLag;
  }

  report(rule: Rule, what: string, begun: Begun, ended: Ended): void {
    this.violationCount += 1;
    if (this.violations.length < MOST_KEPT) this.violations.push({ rule, what, begun, ended });
  }

  /**
   * After an answer with success: nothing had ended by the begin of the request what it used.
   * @param lag - the delay at other nodes than the one that ended it, in milliseconds
   */
  expectNotEnded(scopes: readonly Scope[], begun: Begun, ended: Ended, lag = 0): void {
    const ending = certainEnding(scopes, begun.at, ({ node }) => (node === begun.node ? 0 : lag));
    if (!ending) return;
    const { by, end } = ending;
    this.report('nothing revived', `operation ${by.number} (${by.kind}) ended it at ${end}`, begun, ended);
  }

  /** After a refusal: something may have ended by the end of the request what it used. */
  expectEnded(scopes: readonly Scope[], begun: Begun, ended: Ended): void {
    const endings = possibleEndings(scopes, ended.at, this.#revocationLag);
    let isReported = false;
    const look = (): void => {
      const explaining = endings.filter(({ outcome }) => outcome !== 'none');
      if (explaining.length === 0) {
        if (!isReported) this.report('nothing lost', 'nothing has ended it', begun, ended);
        isReported = true;
      } else if (explaining.every(({ outcome }) => outcome === 'open')) {
        for (const ending of explaining) ending.excused.push(look);
      }
    };
    look();
  }

  /**
   * Whether a refusal can only be the effect of this ending. Otherwise the node may have found that another one had ended it, and
   * does not know of that before the lag is over.
   */
  isOnlyEnding(ending: Ending | undefined, scopes: readonly Scope[], at: number): boolean {
    return possibleEndings(scopes, at, this.#revocationLag).every((possible) => possible === ending);
  }

  expectInvalidGrant(begun: Begun, ended: Ended): void {
    if (ended.error !== 'invalid_grant')
      this.report('documented answers', `error ${ended.error}`, begun, ended);
  }

  expectOwner(expected: Owner, begun: Begun, ended: Ended): void {
    const { owner = {} } = ended;
    const isExpected =
      owner.user === expected.user &&
      owner.client === expected.client &&
      (expected.grant === undefined || owner.grant === expected.grant);
    if (!isExpected) this.report('own data only', `it is for ${JSON.stringify(expected)}`, begun, ended);
  }
}
