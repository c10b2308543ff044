/**
 * The clients of a platform while it moves: they call its API and refresh, first at the old server, then at either, then at the nodes.
 * The old server refreshes as Passport does, and answers by its tables.
 */
import { setTimeout as delay } from 'node:timers/promises';

import type { Knex } from 'knex';

import { postForm, send } from '../../test/harness/requests.ts';
import type { Answer } from '../../test/harness/requests.ts';
import { makeTokens } from '../../test/laravel-passport/laravel.ts';
import type { MadeTokens } from '../../test/laravel-passport/laravel.ts';
import { Random } from '../soak/random.ts';
import type { Nodes } from './nodes.ts';
import type { App, Sample } from './passport-database.ts';

/** The old server, as far as the clients use it. */
export class OldServer {
  readonly #database: Knex;

  constructor(database: Knex) {
    this.#database = database;
  }

  /** Whether it accepts an access token that has not expired. */
  async accepts({ app, tokens: { id } }: Pick<Sample, 'app' | 'tokens'>): Promise<boolean> {
    const [row] = await this.#database('oauth_access_tokens').where({ id });
    const [client] = await this.#database('oauth_clients').where({ id: app.id });
    return row !== undefined && !row.revoked && client !== undefined && !client.revoked;
  }

  async refresh({ app, tokens, userId }: Sample): Promise<MadeTokens | undefined> {
    const redeemed = await this.#database('oauth_refresh_tokens')
      .where({ id: tokens.refreshId, revoked: false })
      .update({ revoked: true });
    if (redeemed !== 1) return undefined;
    await this.#database('oauth_access_tokens').where({ id: tokens.id }).update({ revoked: true });
    const scopes = JSON.parse(String(tokens.accessRow['scopes'])) as string[];
    const next = makeTokens({ clientId: app.id, userId, scopes, expiresIn: 365 * 86_400 });
    await this.#database('oauth_access_tokens').insert(next.accessRow);
    await this.#database('oauth_refresh_tokens').insert(next.refreshRow!);
    return next;
  }
}

/** Sends a request to a node; a client whose connection fails repeats it, which its load balancer sends to another node. */
async function atNode(
  nodes: Nodes,
  first: number,
  request: (at: (path: string) => URL) => Promise<Answer>,
  onRetry: () => void = () => {},
): Promise<Answer> {
  const deadline = performance.now() + 30_000;
  for (let node = first; ; node = 1 - node) {
    try {
      return await request((path) => nodes.at(`${nodes.issuer}${path}`, node));
    } catch (error) {
      if (performance.now() > deadline) throw error;
      onRetry();
      await delay(20);
    }
  }
}

export async function callApi(
  nodes: Nodes,
  node: number,
  token: string,
  onRetry?: () => void,
): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}` };
  return atNode(nodes, node, async (at) => send(at('/api/v1/identity'), { headers }), onRetry);
}

export async function refreshAt(
  nodes: Nodes,
  node: number,
  { app, token }: { readonly app: App; readonly token: string },
  onRetry?: () => void,
): Promise<Answer> {
  const fields = {
    grant_type: 'refresh_token',
    client_id: app.id,
    ...(app.secret !== undefined && { client_secret: app.secret }),
    refresh_token: token,
  };
  return atNode(nodes, node, async (at) => postForm(at('/oauth/token'), fields), onRetry);
}

/** Where the clients send their requests. */
type Phase = 'both' | 'new' | 'old';

/** A client with tokens of a user: those of Passport, or, after a refresh at a node, those of the nodes. */
interface Device {
  sample: Sample;
  own: { readonly access: string; readonly refresh: string } | undefined;
  texts: { access?: string; refresh?: string };
}

export class PassportClients {
  readonly broken: string[] = [];
  readonly counts = { calls: 0, callsAtOld: 0, refreshesAtOld: 0, exchanged: 0, refreshes: 0, repeated: 0 };
  /** The ids of the refresh tokens that were exchanged at a node. */
  readonly exchanged: Set<string> = new Set();
  phase: Phase = 'old';
  readonly #nodes: Nodes;
  readonly #old: OldServer;
  readonly #random = new Random(2);

  constructor(nodes: Nodes, old: OldServer) {
    this.#nodes = nodes;
    this.#old = old;
  }

  /** Calls and refreshes, over and over, until it is told to end. */
  async run(samples: readonly Sample[], workers: number, signal: AbortSignal): Promise<void> {
    const devices = samples.map((sample): Device => ({ sample, own: undefined, texts: {} }));
    await Promise.all(
      Array.from({ length: workers }, async (_, worker) => {
        const mine = devices.filter((__, index) => index % workers === worker);
        while (!signal.aborted) {
          const device = this.#random.pick(mine);
          await (this.#random.isOnceIn(8) ? this.#refresh(device) : this.#call(device)).catch(
            (error: unknown) => this.broken.push(`no answer: ${String(error)}`),
          );
          await delay(5);
        }
      }),
    );
  }

  #isAtOld({ own }: Device): boolean {
    if (own || this.phase === 'new') return false;
    return this.phase === 'old' || this.#random.isOnceIn(2);
  }

  readonly #repeated = (): void => void (this.counts.repeated += 1);

  async #call(device: Device): Promise<void> {
    if (this.#isAtOld(device)) {
      this.counts.callsAtOld += 1;
      if (!(await this.#old.accepts(device.sample))) this.broken.push('the old server refuses a live token');
      return;
    }
    const token = device.own?.access ?? (device.texts.access ??= device.sample.tokens.accessToken());
    const { body, status } = await callApi(this.#nodes, this.#random.below(2), token, this.#repeated);
    this.counts.calls += 1;
    if (status !== 200)
      this.broken.push(
        `a call with ${device.own ? 'its own' : 'a Passport'} token: ${status} ${String(body?.['code'])}`,
      );
  }

  async #refresh(device: Device): Promise<void> {
    const { app, tokens } = device.sample;
    if (this.#isAtOld(device)) {
      const next = await this.#old.refresh(device.sample);
      this.counts.refreshesAtOld += 1;
      if (!next) return void this.broken.push('the old server refuses a live refresh token');
      device.sample = { ...device.sample, tokens: next };
      device.texts = {};
      return;
    }
    const token = device.own?.refresh ?? (device.texts.refresh ??= tokens.refreshToken());
    const { body, status } = await refreshAt(
      this.#nodes,
      this.#random.below(2),
      { app, token },
      this.#repeated,
    );
    if (status !== 200)
      return void this.broken.push(
        `a refresh with ${device.own ? 'its own' : 'a Passport'} token: ${status} ${String(body?.['error_description'])}`,
      );
    if (device.own) this.counts.refreshes += 1;
    else {
      this.counts.exchanged += 1;
      this.exchanged.add(tokens.refreshId);
    }
    device.own = { access: String(body!['access_token']), refresh: String(body!['refresh_token']) };
  }
}
