import type { Knex } from 'knex';

import { Browser } from '../../test/harness/browser.ts';
import { signIn } from '../../test/harness/platform.ts';
import { Random } from '../soak/random.ts';
import { authorizeAll } from './agents-user.ts';
import type { Nodes } from './nodes.ts';
import type { Outcome, Session, Sharing } from './refresh-programs.ts';
import type { Fate, RefreshProxy } from './refresh-proxy.ts';
import type { SimulatedClock } from './simulated-clock.ts';

// In seconds.
const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

/** What a week is made of. */
export interface WeekSettings {
  readonly clock: SimulatedClock;
  readonly host: Knex;
  readonly nodes: Nodes;
  readonly proxy: RefreshProxy;
  readonly programs: readonly Sharing[];
  readonly seed: number;
  /** Whether the week ends with the first new login. */
  readonly endsWithLogin: boolean;
}

/** A week of the sessions that share credentials, on one database. */
export class Week {
  readonly #settings: WeekSettings;
  readonly #random: Random;
  readonly #browser = new Browser();
  readonly broken: string[] = [];
  /** One for each program, and those that were not to be needed. */
  logins = 0;
  calls = 0;
  /** How often a program has asked for a login when a response was lost, without a refusal: no server prevents that. */
  asked = 0;
  #now = 0;

  constructor(settings: WeekSettings) {
    this.#settings = settings;
    this.#random = new Random(settings.seed);
  }

  /** The logins that were not to be needed. */
  get newLogins(): number {
    return Math.max(0, this.logins - this.#settings.programs.length);
  }

  async run(days: number): Promise<void> {
    const { endsWithLogin, programs } = this.#settings;
    for (const program of programs) {
      const outcome = await this.#call(program.sessions[0]!, {}, true);
      if (outcome !== 'answered') throw new Error(`${program.name} was not answered after its login`);
    }
    for (let day = 0; day < days; day += 1) {
      const evening = day * DAY + 12 * 60 * MINUTE;
      while (this.#now < evening) {
        const program = this.#random.pick(programs);
        this.#pass(this.#upTo(20 * MINUTE));
        await this.#disturb(program);
        this.#pass(this.#upTo(20 * MINUTE));
        // The disturbance may have lost what it has stored. Within the hour, a session goes on.
        if ((await this.#callOf(program)) === 'failed') this.#report(`${program.name}: a call has failed`);
        await this.#check();
        if (endsWithLogin && this.newLogins > 0) return;
      }
      this.#pass((day + 1) * DAY - this.#now);
      for (const program of programs) await this.#callOf(program);
    }
  }

  async #disturb(program: Sharing): Promise<void> {
    const node = this.#random.below(2);
    switch (this.#random.below(6)) {
      case 0:
        await Promise.all(program.sessions.map(async (session) => this.#call(session)));
        return;
      case 1:
        await this.#callOf(program, { node, isLost: true });
        return;
      case 2:
        return this.#late(program, 'before');
      case 3:
        return this.#late(program, 'after');
      case 4:
        return this.#killProgram(program);
      default:
        return this.#killNode(program, node);
    }
  }

  /** A session sends its request, or gets its tokens, after others have refreshed: a computer was asleep. */
  async #late(program: Sharing, when: 'before' | 'after'): Promise<void> {
    const awake = Promise.withResolvers<void>();
    const asleep = Promise.withResolvers<void>();
    const [slow, ...others] = this.#shuffled(program.sessions);
    const call = this.#call(slow!, {
      async [when]() {
        asleep.resolve();
        return awake.promise;
      },
    });
    // It may have asked the server for nothing.
    await Promise.race([asleep.promise, call]);
    for (const other of others) {
      await this.#call(other);
      this.#pass(this.#upTo(10 * MINUTE));
    }
    awake.resolve();
    await call;
  }

  /** A program is killed while its refresh is answered. */
  async #killProgram(program: Sharing): Promise<void> {
    const asleep = Promise.withResolvers<void>();
    const session = this.#random.pick(program.sessions);
    const call = this.#call(session, {
      async after() {
        asleep.resolve();
        return session.kill();
      },
    });
    await Promise.race([asleep.promise, call]);
    await call;
  }

  /** A node is killed while it answers a session, before or after it has stored what it answers. */
  async #killNode(program: Sharing, node: number): Promise<void> {
    const { nodes } = this.#settings;
    const call = this.#callOf(program, {
      node,
      before: async () => {
        setTimeout(() => nodes.kill(node), this.#random.below(8));
      },
    });
    await call;
    nodes.kill(node);
    await nodes.restart(node);
  }

  async #callOf({ sessions }: Sharing, fate?: Fate): Promise<Outcome> {
    return this.#call(this.#random.pick(sessions), fate);
  }

  /** A session calls the server. Its user authorizes it when it asks for that, and ends it when it asks without a reason. */
  async #call(session: Session, fate?: Fate, isFirst = false): Promise<Outcome> {
    const { proxy } = this.#settings;
    this.calls += 1;
    if (fate) proxy.fate = fate;
    const { refused } = proxy;
    let outcome = await session.call();
    if (outcome instanceof URL) {
      if (isFirst || proxy.refused > refused) outcome = await this.#logIn(session, outcome);
      else {
        this.asked += 1;
        await session.kill();
        outcome = 'failed';
      }
    }
    // The call may have needed no refresh.
    if (proxy.fate === fate) proxy.fate = undefined;
    return outcome;
  }

  async #logIn(session: Session, url: URL): Promise<Outcome> {
    this.logins += 1;
    if (this.newLogins > 0) this.#report('a session needs a new login');
    const browser = this.#browser;
    let page = await browser.open(url);
    if (page.html.includes('type="password"')) page = await signIn(browser, page);
    if (page.location === undefined) page = await browser.follow(await authorizeAll(browser, page));
    // The callback may be that of a session which was killed.
    const answer = await fetch(page.location!).catch(() => undefined);
    await answer?.body?.cancel();
    return session.authorized();
  }

  /** The rules of the server, by what is stored. */
  async #check(): Promise<void> {
    const { host } = this.#settings;
    const grants = await host('gatehouse_grants').select('id');
    if (grants.length !== this.logins) this.#report(`${grants.length} authorizations`);
    const unspent = await host('gatehouse_credentials')
      .where({ kind: 'refresh_token' })
      .whereNull('consumed_at')
      .groupBy('grant_id')
      .having(host.raw('count(*) > 1'))
      .select('grant_id');
    for (const _grant of unspent) this.#report('several unspent refresh tokens');
  }

  #pass(seconds: number): void {
    this.#now += seconds;
    this.#settings.clock.pass(seconds);
  }

  #upTo(seconds: number): number {
    return 1 + this.#random.below(seconds);
  }

  #shuffled<T>(list: readonly T[]): T[] {
    const left = [...list];
    return Array.from(list, () => left.splice(this.#random.below(left.length), 1)[0]!);
  }

  #report(breach: string): void {
    this.broken.push(`${(this.#now / DAY).toFixed(2)} days: ${breach}`);
  }
}
