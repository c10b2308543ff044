import type { Milliseconds, Seconds } from './duration.ts';
import type { Client } from './clients.ts';
import type { GrantOrigin } from './grants.ts';

/** An API besides the default, as pages show it. */
export interface NamedResource {
  /** Its URL: the `resource` of requests (RFC 8707). */
  readonly resource: string;
  /** The name that the option `resources` gives it, else its URL. */
  readonly name: string;
}

/** A scope that a user has consented to. */
export interface AuthorizedScope {
  readonly name: string;
  readonly description: string;
  /** Whether it is about who the user is, such as `email`: it tells the app who the user is, and permits nothing. */
  readonly aboutUser: boolean;
}

/** An API besides the default, or the userinfo endpoint, and what an app may do there. */
export interface AuthorizedResource extends NamedResource {
  /** The scopes that the user has consented to. */
  readonly scopes: readonly AuthorizedScope[];
  /** `false`: it has all permissions of the user. With `true` and no scopes, it has none. */
  readonly limited: boolean;
}

/** An app that a user has authorized. */
export interface AuthorizedApp {
  readonly client: Client;
  /** The scopes that the user has consented to, with their descriptions: those of the default API, the server's own. */
  readonly scopes: readonly AuthorizedScope[];
  /** `false`: it has all permissions of the user at the default API. With `true` and no scopes, it has none. */
  readonly limited: boolean;
  /** What the user has consented to at other APIs (see the option `resources`), and at the userinfo endpoint. */
  readonly resources: readonly AuthorizedResource[];
  /** When the user first consented. */
  readonly createdAt: Seconds;
  /** To the hour; `undefined` when it was never used. */
  readonly lastUsedAt: Seconds | undefined;
  /** The tools that it has called lately as an agent, the last one first. */
  readonly tools: readonly ToolUse[];
  /** The authorizations that it can still use, at most 50, the last used one first: each machine or browser has its own. */
  readonly connections: readonly Connection[];
  /** Whether it has more than these. */
  readonly hasMoreConnections: boolean;
}

/** One authorization of an app by a user: a grant. */
export interface Connection {
  /** The id of the grant, as in the `grant_id` claim. */
  readonly id: string;
  readonly createdAt: Seconds;
  /** To the hour; `undefined`: not used after its first hour. */
  readonly lastUsedAt: Seconds | undefined;
  /** Where the user has authorized it; `undefined` when that was not stored. */
  readonly origin: GrantOrigin | undefined;
}

/** A tool that an app has called for a user. */
export interface ToolUse {
  /** Its name, such as `rename_school`. */
  readonly name: string;
  /** When it was last called. */
  readonly at: Milliseconds;
}

/** The apps that a user has authorized. */
export interface AuthorizedApps {
  /** Lists them in the order in which they were authorized. */
  list(): Promise<readonly AuthorizedApp[]>;
  /** Withdraws the consent and revokes every token of the app for this user. Resolves to `false` when there was no consent. */
  disconnect(clientId: string): Promise<boolean>;
  /**
   * Revokes every token of one connection. The other connections and the consent stay. Resolves to `false` when the app has no such
   * connection with the user, or it had ended before.
   *
   * @param clientId - `undefined`: of whatever app it is
   */
  endConnection(clientId: string | undefined, connectionId: string): Promise<boolean>;
}
