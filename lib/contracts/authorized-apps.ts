import type { Seconds } from './duration.ts';
import type { Client } from './clients.ts';
import type { GrantOrigin } from './grants.ts';

/** An API besides the default, as pages show it. */
export interface NamedResource {
  /** The URL of the API: the `resource` of requests (RFC 8707). */
  readonly resource: string;
  /** The name that the option `resources` gives the API, else its URL. */
  readonly name: string;
}

/** A scope that a user has consented to. */
export interface AuthorizedScope {
  readonly name: string;
  readonly description: string;
  /** Whether the scope is about who the user is, such as `email`. Such a scope tells the app who the user is, and permits nothing. */
  readonly aboutUser: boolean;
}

/** An API besides the default, or the userinfo endpoint, and what an app may do there. */
export interface AuthorizedResource extends NamedResource {
  /** The scopes that the user has consented to, which limit the app; `undefined`: it has all permissions of the user. */
  readonly scopes: readonly AuthorizedScope[] | undefined;
}

/** An app that a user has authorized, or that somebody else lets act for the user. */
export interface AuthorizedApp {
  readonly client: Client;
  /**
   * The scopes of the default API, the server's own, that the user has consented to. They limit the app; `undefined`: it has all
   * permissions of the user there.
   */
  readonly scopes: readonly AuthorizedScope[] | undefined;
  /** What the user has consented to at other APIs (see the option `resources`), and at the userinfo endpoint. */
  readonly resources: readonly AuthorizedResource[];
  /** The hosts of the sites that have allowed it, such as the identity provider of the user's organization; empty: the user alone has. */
  readonly allowedBy: readonly string[];
  /** When the user first consented, or another site first allowed it. */
  readonly createdAt: Seconds;
  /** The time of the last use, to the hour; `undefined` when the app was never used. */
  readonly lastUsedAt: Seconds | undefined;
  /** The tools that the app has called lately as an agent, the last one first. */
  readonly tools: readonly ToolUse[];
  /** The grants that the app can still use, at most 50, the last used one first. Each machine or browser has its own. */
  readonly grants: readonly AppGrant[];
  /** Whether the app has more grants than these. */
  readonly moreGrants: boolean;
}

/** One authorization of an app by a user: a grant. */
export interface AppGrant {
  /** The id of the grant, as in the `grant_id` claim. */
  readonly id: string;
  readonly createdAt: Seconds;
  /** The time of the last use, to the hour; `undefined` when the grant was not used after its first hour. */
  readonly lastUsedAt: Seconds | undefined;
  /** Where the user has authorized the app; `undefined` when that was not stored. */
  readonly origin: GrantOrigin | undefined;
}

/** A tool that an app has called for a user. */
export interface ToolUse {
  /** The name of the tool, such as `rename_school`. */
  readonly name: string;
  /** When the tool was last called, with fractions. */
  readonly at: Seconds;
}

/** The apps that a user has authorized. */
export interface AuthorizedApps {
  /** Lists the apps, also those that others have allowed, in the order in which they were authorized. */
  list(): Promise<readonly AuthorizedApp[]>;
  /** Withdraws the consent and revokes every token of the app for this user. Resolves to `false` when there was no consent. */
  revoke(clientId: string): Promise<boolean>;
  /**
   * Revokes every token of one grant. The other grants and the consent stay. Resolves to `false` when the app has no such
   * grant of the user, or it had ended before.
   *
   * @param clientId - the app of the grant; `undefined` for any app
   */
  revokeGrant(clientId: string | undefined, grantId: string): Promise<boolean>;
}
