import { BrowserRules } from './browser-rules.ts';
import { Ending } from './endings.ts';
import { Known } from './known.ts';
import type { Open } from './known.ts';
import type { Begun, Ended, Kind } from './operations.ts';
import { TokenRules } from './token-rules.ts';
import type { CheckerSettings } from './token-rules.ts';
import { Verdicts } from './verdicts.ts';
import type { Violation } from './verdicts.ts';

/**
 * Checks answers while they arrive. It is told of each begin and each end in the order of the driver's clock. An answer is
 * only wrong when no order of the operations that overlap can explain it.
 */
export class Checker {
  readonly #known = new Known();
  readonly #verdicts: Verdicts;
  readonly #tokens: TokenRules;
  readonly #browsers: BrowserRules;
  readonly #open = new Map<number, Open>();

  constructor(settings: CheckerSettings) {
    this.#verdicts = new Verdicts(settings.revocationLag);
    this.#tokens = new TokenRules(this.#known, this.#verdicts, settings);
    this.#browsers = new BrowserRules(this.#known, this.#verdicts);
  }

  /** The first wrong answers. */
  get violations(): readonly Violation[] {
    return this.#verdicts.violations;
  }

  get violationCount(): number {
    return this.#verdicts.violationCount;
  }

  begin(begun: Begun): void {
    const open: Open = { begun, ending: undefined };
    this.#open.set(begun.number, open);
    if (begun.kind === 'code exchange') this.#tokens.beginExchange(open, begun);
    if (begun.kind === 'refresh') this.#tokens.beginRefresh(open, begun);
    const endings = this.#known.endingsBy(begun);
    if (!endings) return;
    open.ending = new Ending(begun);
    endings.push(open.ending);
  }

  end(ended: Ended): void {
    const open = this.#open.get(ended.number)!;
    const { begun } = open;
    this.#open.delete(ended.number);
    if (!STATUSES[begun.kind].includes(ended.status))
      this.#verdicts.report('documented answers', `status ${ended.status}`, begun, ended);
    switch (begun.kind) {
      case 'authorization':
        return this.#browsers.endAuthorization(begun, ended);
      case 'disconnect app':
        return this.#browsers.endDisconnection(open, begun, ended);
      case 'code exchange':
        return this.#tokens.endExchange(open, begun, ended);
      case 'refresh':
        return this.#tokens.endRefresh(open, begun, ended);
      case 'client credentials':
        return this.#tokens.endClientCredentials(begun, ended);
      case 'guarded request':
        return this.#tokens.endGuarded(begun, ended);
      default:
        return open.ending?.settle(ended.status === 200 ? 'done' : 'perhaps', ended.at);
    }
  }
}

const TASK = [0, 200, 503];

/** The documented statuses. 0: no answer. 503: the storage cannot be reached, and the request can be repeated. */
const STATUSES: Readonly<Record<Kind, readonly number[]>> = {
  authorization: [0, 303, 400, 503],
  'code exchange': [0, 200, 400, 503],
  refresh: [0, 200, 400, 503],
  'client credentials': TASK,
  'guarded request': [0, 200, 401, 503],
  'revoke access token': TASK,
  'revoke refresh token': TASK,
  'revoke grant': TASK,
  'revoke user': TASK,
  'revoke client': TASK,
  'disconnect app': [0, 303, 403, 503],
  'rotate keys': TASK,
  prune: TASK,
};
