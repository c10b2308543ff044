import { auth } from '@modelcontextprotocol/client';
import type { OAuthTokens, refreshAuthorization } from '@modelcontextprotocol/client';
import type { Knex } from 'knex';

import { Agent } from '../../test/harness/agent.ts';
import { Browser } from '../../test/harness/browser.ts';
import { signIn } from '../../test/harness/platform.ts';
import { Random } from '../soak/random.ts';
import type { Nodes } from './nodes.ts';

// In seconds.
const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
const SESSIONS = 10;

/** How a generation of the SDK refreshes. */
export type Refresh = typeof refreshAuthorization;

/** What happens to one refresh. */
interface Fate {
  readonly node: number;
  /** Called before the request is sent, and before the response is read. */
  readonly before?: () => Promise<void>;
  readonly after?: () => Promise<void>;
}

/** A week of the sessions that share a credential, on one database. */
export class Week {
  readonly #random: Random;
  readonly #nodes: Nodes;
  readonly #host: Knex;
  readonly #generations: readonly Refresh[];
  readonly #agent = new Agent('https://agent.example/callback', {
    metadata: { token_endpoint_auth_method: 'none' },
  });
  readonly broken: string[] = [];
  refreshes = 0;
  logins = 0;
  #now = 0;

  constructor(nodes: Nodes, host: Knex, generations: readonly Refresh[], seed: number) {
    this.#nodes = nodes;
    this.#host = host;
    this.#generations = generations;
    this.#random = new Random(seed);
  }

  async run(days: number): Promise<void> {
    await this.#logIn();
    for (let day = 0; day < days; day += 1) {
      const evening = day * DAY + 12 * 60 * MINUTE;
      while (this.#now < evening) {
        await this.#disturb();
        await this.#check();
        await this.#pass(this.#upTo(20 * MINUTE));
        await this.#session();
        await this.#pass(this.#upTo(20 * MINUTE));
      }
      await this.#pass((day + 1) * DAY - this.#now);
      await this.#session();
    }
  }

  async #disturb(): Promise<void> {
    const node = this.#random.below(2);
    // A node takes a second to start.
    if (this.#random.isOnceIn(20)) return this.#killed(node);
    switch (this.#random.below(4)) {
      case 0: {
        const sessions = 2 + this.#random.below(SESSIONS - 1);
        await Promise.all(Array.from({ length: sessions }, async () => this.#session()));
        return undefined;
      }
      case 1:
        return this.#session({ node, after: lost });
      case 2:
        return this.#late('before', node);
      default:
        return this.#late('after', node);
    }
  }

  /** A session sends its request, or stores its tokens, after others have refreshed; a computer was asleep. */
  async #late(when: 'before' | 'after', node: number): Promise<void> {
    const awake = Promise.withResolvers<void>();
    const asleep = Promise.withResolvers<void>();
    const slow = this.#session({
      node,
      async [when]() {
        asleep.resolve();
        return awake.promise;
      },
    });
    await asleep.promise;
    for (let others = this.#random.below(3); others >= 0; others -= 1) {
      await this.#session();
      await this.#pass(this.#upTo(10 * MINUTE));
    }
    awake.resolve();
    await slow;
  }

  /** A node is killed while it answers some sessions. */
  async #killed(node: number): Promise<void> {
    const sessions = Array.from({ length: 4 }, async () => this.#session({ node }));
    await new Promise((resolve) => setTimeout(resolve, this.#random.below(8)));
    this.#nodes.kill(node);
    await Promise.all(sessions);
    await this.#nodes.restart(node);
  }

  /** A session refreshes with what is stored, and stores the answer. Without an answer, another one is to do so. */
  async #session({ after, before, node = this.#random.below(2) }: Partial<Fate> = {}): Promise<void> {
    this.refreshes += 1;
    const { issuer } = this.#nodes;
    const metadata = this.#agent.discoveryState()!.authorizationServerMetadata!;
    let tokens: OAuthTokens;
    try {
      const refresh = this.#generations[this.#random.below(this.#generations.length)]!;
      tokens = await refresh(issuer, {
        metadata,
        clientInformation: this.#agent.registered!,
        refreshToken: this.#agent.stored!.refresh_token!,
        resource: new URL(`${issuer}/mcp`),
        fetchFn: async (url, given) => {
          await before?.();
          const response = await fetch(this.#nodes.at(url, node), given);
          const body = await response.arrayBuffer();
          await after?.();
          return new Response(body, response);
        },
      });
    } catch (error) {
      // The two generations name it differently. Any other error is that of a request without an answer.
      const { code, errorCode = code } = error as { code?: unknown; errorCode?: unknown };
      if (errorCode === 'invalid_grant') await this.#logIn();
      else if (errorCode === 'invalid_client' || errorCode === 'temporarily_unavailable')
        this.#report(`a refresh was refused: ${errorCode}`);
      return;
    }
    this.#agent.saveTokens({ ...tokens, issuer });
  }

  async #logIn(): Promise<void> {
    this.logins += 1;
    if (this.logins > 1) this.#report('a session needs a new login');
    const { issuer } = this.#nodes;
    const target = {
      serverUrl: `${issuer}/mcp`,
      fetchFn: async (url: string | URL, given?: RequestInit) => fetch(this.#nodes.at(url, 0), given),
    };
    this.#agent.stored = undefined;
    await auth(this.#agent, target);
    const browser = new Browser((url) => this.#nodes.at(url, 0));
    let page = await signIn(browser, await browser.open(this.#agent.authorizationUrl!));
    // A later consent is remembered.
    if (page.location === undefined) page = await browser.follow(await browser.submit(page, 'Authorize'));
    const { code, iss } = Object.fromEntries(page.location!.searchParams);
    await auth(this.#agent, { ...target, authorizationCode: code!, iss: iss! });
  }

  /** The rules of the server, by what is stored. */
  async #check(): Promise<void> {
    const grants = await this.#host('gatehouse_grants').select('id', 'revoked_at');
    if (grants.length !== this.logins) this.#report(`${grants.length} authorizations`);
    for (const { id } of grants) {
      const unspent = await this.#host('gatehouse_credentials')
        .where({ grant_id: id, kind: 'refresh_token' })
        .whereNull('consumed_at');
      if (unspent.length > 1) this.#report(`${unspent.length} unspent refresh tokens`);
    }
  }

  /** Moves what is stored into the past. @param seconds - by so much */
  async #pass(seconds: number): Promise<void> {
    this.#now += seconds;
    await this.#host.transaction(async (transaction) => {
      for (const [table, columns] of [
        ['gatehouse_credentials', ['expires_at']],
        ['gatehouse_grants', ['created_at', 'expires_at', 'needed_until']],
      ] as const)
        await transaction(table).update(
          Object.fromEntries(columns.map((name) => [name, transaction.raw('?? - ?', [name, seconds])])),
        );
      await transaction('gatehouse_credentials')
        .whereNotNull('consumed_at')
        .update({ consumed_at: transaction.raw('consumed_at - ?', [seconds * 1000]) });
    });
  }

  #upTo(seconds: number): number {
    return 1 + this.#random.below(seconds);
  }

  #report(breach: string): void {
    this.broken.push(`${(this.#now / DAY).toFixed(2)} days: ${breach}`);
  }
}

async function lost(): Promise<never> {
  throw new TypeError('the response is lost');
}
