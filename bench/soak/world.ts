import { Cookies } from '../client/cookies.ts';
import type { Nodes } from './nodes.ts';
import type { Owner } from './operations.ts';
import type { Random } from './random.ts';
import type { Recorder } from './recorder.ts';

/** A registered client. The numbers of services follow those of the apps. */
export interface RegisteredClient {
  readonly number: number;
  readonly id: string;
  readonly secret: string;
}

/** A token with its number in the log. */
export interface Token {
  readonly number: number;
  readonly value: string;
}

/** What an app has of an authorization. */
export interface Connection {
  readonly code: number;
  readonly user: number;
  readonly app: RegisteredClient;
  readonly grant: string;
  access: Token;
  refresh: Token;
  /** The refresh tokens before it, the latest first. */
  spent: readonly Token[];
  /** Whether a refresh is under way: a client makes one at a time, except where the mix has it otherwise. */
  isRefreshing: boolean;
}

export interface ServiceToken extends Token {
  readonly service: RegisteredClient;
}

/** The browser of a user. */
export interface Browser {
  readonly user: number;
  cookies: Cookies;
  session: number | undefined;
  isBusy: boolean;
}

const USERS = 400;
const MOST_CONNECTIONS = 1500;
const MOST_ENDED = 300;
const MOST_SERVICE_TOKENS = 300;

/** What the clients and browsers of a run have. */
export class World {
  readonly nodes: Nodes;
  readonly recorder: Recorder;
  readonly random: Random;
  readonly apps: readonly RegisteredClient[];
  readonly services: readonly RegisteredClient[];
  readonly browsers: readonly Browser[];
  readonly connections: Connection[] = [];
  /** Connections that have ended, as far as their apps know. */
  readonly ended: Connection[] = [];
  readonly serviceTokens: ServiceToken[] = [];
  /** Access tokens that every node has to refuse, from `at` on, in milliseconds; the earliest first. */
  readonly due: { readonly at: number; readonly token: Token }[] = [];
  readonly #clients: ReadonlyMap<string, number>;
  readonly #numbers = {
    code: new Map<string, number>(),
    refresh: new Map<string, number>(),
    access: new Map<string, number>(),
  };
  #sessions = 0;

  constructor({
    nodes,
    recorder,
    random,
    apps,
    services,
  }: Pick<World, 'nodes' | 'recorder' | 'random' | 'apps' | 'services'>) {
    this.nodes = nodes;
    this.recorder = recorder;
    this.random = random;
    this.apps = apps;
    this.services = services;
    this.browsers = Array.from({ length: USERS }, (_, user) => ({
      user,
      cookies: new Cookies(),
      session: undefined,
      isBusy: false,
    }));
    this.#clients = new Map([...apps, ...services].map(({ id, number }) => [id, number]));
  }

  /** The number of a credential: the same one whenever it is seen. */
  numberOf(kind: 'code' | 'refresh' | 'access', value: string): number {
    const numbers = this.#numbers[kind];
    // The last characters are a part of the signature, which no other token has.
    const key = value.slice(-24);
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  }

  newSession(): number {
    this.#sessions += 1;
    return this.#sessions;
  }

  clientNumber(id: unknown): number | undefined {
    return typeof id === 'string' ? this.#clients.get(id) : undefined;
  }

  /** Whom the claims of an access token name. */
  ownerOf(accessToken: string): Owner {
    const [, payload = ''] = accessToken.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
    const isUser = claims['principal'] === 'user';
    const grant = claims['grant_id'];
    return {
      ...(isUser ? { user: userNumber(claims['sub']) } : {}),
      client: this.clientNumber(claims['client_id']),
      ...(typeof grant === 'string' ? { grant } : {}),
    };
  }

  connect(connection: Connection): void {
    this.connections.push(connection);
    // The app of one of them has forgotten it.
    if (this.connections.length > MOST_CONNECTIONS)
      remove(this.connections, this.random.below(MOST_CONNECTIONS));
  }

  disconnect(connection: Connection): void {
    const index = this.connections.indexOf(connection);
    if (index === -1) return;
    remove(this.connections, index);
    this.ended.push(connection);
    if (this.ended.length > MOST_ENDED) remove(this.ended, this.random.below(MOST_ENDED));
  }

  keepServiceToken(token: ServiceToken): void {
    this.serviceTokens.push(token);
    if (this.serviceTokens.length > MOST_SERVICE_TOKENS)
      remove(this.serviceTokens, this.random.below(MOST_SERVICE_TOKENS));
  }
}

/** Of an id such as `user-17`. */
export function userNumber(id: unknown): number | undefined {
  const [, digits] = /^user-(\d+)$/.exec(String(id)) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

// Their order is of no importance.
function remove(list: unknown[], index: number): void {
  const last = list.pop();
  if (index < list.length) list[index] = last;
}
