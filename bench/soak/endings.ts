import type { Begun } from './operations.ts';

/** An operation that ends tokens: a revocation, a disconnection, a reuse of a code or refresh token. */
export class Ending {
  readonly by: Begun;
  /** When it may take effect at the earliest. */
  begin: number;
  readonly node: number;
  /** When its answer arrived. */
  end: number = Infinity;
  /**
   * `open`: it has no answer yet. `done`: it was answered with success. `perhaps`: it was not answered, or its answer leaves open
   * whether it took place. `none`: it did not take place.
   */
  outcome: 'open' | 'done' | 'perhaps' | 'none' = 'open';
  /** Called when the outcome is `none`: refusals that were taken for its effect. */
  readonly excused: (() => void)[] = [];

  constructor(by: Begun, begin: number = by.at) {
    this.by = by;
    this.begin = begin;
    this.node = by.node;
  }

  settle(outcome: 'done' | 'perhaps' | 'none', at: number): void {
    this.outcome = outcome;
    this.end = at;
    if (outcome === 'none') for (const look of this.excused) look();
    this.excused.length = 0;
  }
}

/** When something was made: the begin and the end of the request. */
export interface Made {
  readonly from: number;
  readonly until: number;
}

/** Endings, and what they end: everything of a party that was made before them, or one thing, whenever it was made. */
export interface Scope {
  readonly endings: readonly Ending[];
  readonly made?: Made;
  /** The delay after which a node makes nothing any more that another node has ended, in milliseconds. @default 0 */
  readonly makingLag?: number;
}

/** Those that may have taken effect by `at`. */
export function possibleEndings(scopes: readonly Scope[], at: number, unknownFor: number): Ending[] {
  const found: Ending[] = [];
  for (const { endings, made, makingLag = 0 } of scopes) {
    for (const ending of endings) {
      if (ending.outcome === 'none' || ending.begin > at) continue;
      const lasts = Math.max(makingLag, ending.outcome === 'perhaps' ? unknownFor : 0);
      if (made && made.from >= ending.end + lasts) continue;
      found.push(ending);
    }
  }
  return found;
}

/** One that has certainly taken effect for a request that begins at `at`. @param lagAt - the delay at the node that is asked */
export function certainEnding(
  scopes: readonly Scope[],
  at: number,
  lagAt: (ending: Ending) => number,
): Ending | undefined {
  for (const { endings, made } of scopes) {
    for (const ending of endings) {
      const isCovered = !made || made.until <= ending.begin;
      if (ending.outcome === 'done' && isCovered && ending.end + lagAt(ending) <= at) return ending;
    }
  }
  return undefined;
}
