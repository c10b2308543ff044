import { setTimeout as delay } from 'node:timers/promises';

import { decodeJwt } from 'jose';

import { postJson, send } from '../../test/harness/requests.ts';
import type { RegisteredApp } from '../../test/harness/platform.ts';

/** Where and as whom requests are sent. */
export interface TokenLoadSettings {
  /** The origins of the nodes; each request goes to the next one. */
  readonly nodes: readonly string[];
  readonly app: RegisteredApp;
  /** Authorizes the app and resolves to the code; `undefined` when there was none. */
  readonly authorize: () => Promise<string | undefined>;
}

/** How often something was done, and each breach of its rule, in words. */
interface Tally {
  count: number;
  readonly broken: string[];
}

/** What was found, by what was done. */
export class TokenLoad {
  readonly statuses: Map<number, number> = new Map();
  readonly exchanges: Tally = { count: 0, broken: [] };
  readonly refreshes: Tally = { count: 0, broken: [] };
  readonly revocations: Tally = { count: 0, broken: [] };
  readonly lasting: Tally = { count: 0, broken: [] };
  /** Codes that were spent by a request whose answer was 503: their user authorizes the app again. */
  codesWithoutAnswer = 0;
  /** By `performance.now()`, when a node last and first issued tokens. */
  readonly successes: number[] = [];
  readonly #settings: TokenLoadSettings;
  readonly #living = new Set<Tokens>();
  readonly #spent: { readonly token: string; readonly family: Family }[] = [];
  readonly #revoked: Tokens[] = [];
  #turn = 0;

  constructor(settings: TokenLoadSettings) {
    this.#settings = settings;
  }

  /** The ids of the grants whose revocation was answered with 200. */
  get revokedGrants(): readonly string[] {
    return this.#revoked.map(({ access }) => decodeJwt(access)['grant_id'] as string);
  }

  /** Authorizes, exchanges, refreshes and revokes, over and over, until it is told to end. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const first = await this.#exchange(signal);
      if (!first) continue;
      let tokens = first;
      let before: Tokens | undefined;
      const family: Family = { current: tokens.refresh, isRevoked: false };
      this.#living.add(tokens);
      for (let rotation = 0; rotation < 8 && !signal.aborted; rotation += 1) {
        const next = await this.#refresh(tokens.refresh, signal);
        if (!next) {
          // An answer that nobody waited for may have had a successor.
          family.current = undefined;
          break;
        }
        this.#living.delete(tokens);
        if (before) this.#spent.push({ token: before.refresh, family });
        before = tokens;
        tokens = next;
        family.current = tokens.refresh;
        this.#living.add(tokens);
      }
      if (Math.random() < 0.5) {
        family.isRevoked = true;
        await this.#revoke(tokens, signal);
      }
    }
  }

  /** Asks the nodes what is left of what was answered with 200. */
  async check(): Promise<void> {
    const never = new AbortController().signal;
    // First, because a refresh changes what is current.
    await inParallel(this.#spent.slice(-200), async ({ token, family: { current, isRevoked } }) => {
      if (isRevoked || current === undefined) return;
      this.lasting.count += 1;
      const { body, status } = await this.#presented(token);
      if (status !== 200 || body?.['refresh_token'] !== current)
        this.lasting.broken.push(`a spent refresh token does not lead to the current one: ${status}`);
    });
    await inParallel(this.#living, async ({ access, refresh }) => {
      this.lasting.count += 1;
      const guarded = await this.#guard(access);
      if (guarded !== 200) this.lasting.broken.push(`an access token that was issued: ${guarded}`);
      if (!(await this.#refresh(refresh, never)))
        this.lasting.broken.push('a refresh token that was issued is refused');
    });
    await inParallel(this.#revoked, async ({ access, refresh }) => {
      const guarded = await this.#guard(access);
      const { status } = await this.#presented(refresh);
      if (guarded !== 401 || status !== 400) {
        this.revocations.broken.push(`revoked, but ${guarded} at the guard and ${status} at a refresh`);
      }
    });
  }

  /** Exchanges a code, half of the time at three nodes at once. */
  async #exchange(signal: AbortSignal): Promise<Tokens | undefined> {
    const code = await this.#settings.authorize();
    if (code === undefined) {
      await delay(100);
      return undefined;
    }
    const { redirectUri } = this.#settings.app;
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    this.exchanges.count += 1;
    if (Math.random() < 0.5) {
      const answers = await Promise.all([1, 2, 3].map(async () => this.#send(fields)));
      const winners = answers.filter((answer) => answer.status === 200).length;
      if (winners > 1) this.exchanges.broken.push(`a code had ${winners} winners`);
      // The others have replayed the code, which revokes what it has issued.
      return undefined;
    }
    for (let isKnown = true; !signal.aborted; isKnown = false) {
      const answer = await this.#send(fields);
      if (answer.status === 200) return toTokens(answer);
      if (answer.status !== 503) {
        if (isKnown) this.exchanges.broken.push(`a code that was never sent before: ${describe(answer)}`);
        else this.codesWithoutAnswer += 1;
        return undefined;
      }
      await delay(100);
    }
    return undefined;
  }

  /** Refreshes at two nodes at once, until one of them has succeeded. */
  async #refresh(token: string, signal: AbortSignal): Promise<Tokens | undefined> {
    this.refreshes.count += 1;
    for (let tries = 0; tries === 0 || !signal.aborted; tries += 1) {
      const fields = { grant_type: 'refresh_token', refresh_token: token };
      const answers = await Promise.all([this.#send(fields), this.#send(fields)]);
      const refused = answers.find(({ status }) => status !== 200 && status !== 503);
      if (refused) {
        this.refreshes.broken.push(`a refresh token that was issued: ${describe(refused)}`);
        return undefined;
      }
      const winners = answers.filter(({ status }) => status === 200).map(toTokens);
      if (new Set(winners.map(({ refresh }) => refresh)).size > 1) {
        this.refreshes.broken.push('a refresh token had two successors');
      }
      if (winners[0]) return winners[0];
      await delay(100);
    }
    return undefined;
  }

  async #revoke(tokens: Tokens, signal: AbortSignal): Promise<void> {
    // From here on it is not known whether the tokens are good, until one answer says so.
    this.#living.delete(tokens);
    while (!signal.aborted) {
      const { status } = await this.#send({ token: tokens.refresh }, '/oauth/revoke');
      if (status === 200) {
        this.revocations.count += 1;
        this.#revoked.push(tokens);
        return;
      }
      await delay(100);
    }
  }

  /** The answer to a refresh token. */
  async #presented(token: string): Promise<Answer> {
    for (;;) {
      const answer = await this.#send({ grant_type: 'refresh_token', refresh_token: token });
      if (answer.status !== 503) return answer;
      await delay(100);
    }
  }

  async #guard(token: string): Promise<number> {
    for (;;) {
      const url = `${this.#nextNode()}/api/v1/identity`;
      const { status } = await send(url, { headers: { authorization: `Bearer ${token}` } }).catch(
        () => NO_ANSWER,
      );
      if (status !== 503) return status;
      await delay(100);
    }
  }

  async #send(fields: Record<string, string>, path = '/oauth/token'): Promise<Answer> {
    const { client, secret } = this.#settings.app;
    const body = { client_id: client.id, client_secret: secret, ...fields };
    // A connection that the node has just closed, because it was idle, is no answer, as a 503 is.
    const answer = await postJson(this.#nextNode() + path, body).catch(() => NO_ANSWER);
    const { status } = answer;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (status === 200 && path === '/oauth/token') this.successes.push(performance.now());
    return answer;
  }

  #nextNode(): string {
    const { nodes } = this.#settings;
    this.#turn += 1;
    return nodes[this.#turn % nodes.length]!;
  }
}

interface Tokens {
  readonly access: string;
  readonly refresh: string;
}

/** What is known of the refresh tokens of an authorization. */
interface Family {
  /** `undefined`: not known. */
  current: string | undefined;
  /** Also when it is not known whether it was. */
  isRevoked: boolean;
}

type Answer = Awaited<ReturnType<typeof postJson>>;

const NO_ANSWER: Answer = { status: 503, headers: new Headers(), text: '', body: undefined };

function toTokens({ body }: Answer): Tokens {
  return { access: String(body?.['access_token']), refresh: String(body?.['refresh_token']) };
}

function describe({ status, body }: Answer): string {
  return `${status} ${JSON.stringify(body?.['error'])}`;
}

/** Works on eight items at a time. */
export async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const workers = Array.from({ length: 8 }, async () => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item);
  });
  await Promise.all(workers);
}
