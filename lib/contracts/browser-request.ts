import type { Context } from 'koa';

import type { StoredClient } from './clients.ts';
import type { Seconds } from './duration.ts';

/** What is known of a request to a page: each fact is found once, by the step that needs it first. */
export interface BrowserRequest {
  /** The server that found it: an app may have several, with sessions of their own. */
  readonly server: object;
  /**
   * Those of the engine's context, because Koa refuses to set a `Secure` cookie when it takes the connection for plain HTTP, and the
   * engine's context follows the issuer's scheme (see provider.ts).
   */
  readonly cookies: Context['cookies'];
  /** The login session as the browser's cookie names it. Resolves to `undefined` when no user is logged in. */
  session?: Promise<LoginSession | undefined> | undefined;
  /** `RevocationStore.latestSequence` before the password was checked. */
  sequence?: number | undefined;
  /** The interaction that was asked for last. */
  interaction?: OpenInteraction | undefined;
}

/** A login session, by what its pages need. */
export interface LoginSession {
  /** The id of its row. */
  readonly id: string;
  readonly uid: string;
  readonly accountId: string;
  /** When the user has given the password. `undefined`: not known, as the host does not say it. */
  readonly loginTs?: Seconds | undefined;
  /** `RevocationStore.latestSequence` when it was found. */
  readonly sequence: number;
  /** Authentication methods (RFC 8176), and marks of a login at the host. */
  readonly amr?: string[] | undefined;
}

/** An authorization request that waits for this browser. */
export interface OpenInteraction {
  readonly uid: string;
  readonly request: AuthorizationRequest;
  readonly stored: StoredClient;
  /** The user who is logged in on the browser that sent the request. */
  readonly userId: string | undefined;
  /** `RevocationStore.latestSequence` when the login session was found. */
  readonly sequence: number | undefined;
}

/** The page that a request waits for. */
export type Prompt = 'login' | 'consent';

/** An authorization request that the engine has checked and that waits for the user to log in or to consent. */
export interface AuthorizationRequest {
  readonly prompt: Prompt;
  /** The engine's reasons for the prompt, such as `login_prompt`. */
  readonly reasons: readonly string[];
  /** All parameters that the client sent. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The request names no scope and the client is registered for none: the consent is limited to no scope. */
  readonly limited?: true | undefined;
  /** On a consent page: the requested scopes that the user has consented to before. The page asks for the other ones only. */
  readonly consented?: readonly string[] | undefined;
  /** On a consent page: the scopes that the user can decline. */
  readonly optional?: readonly string[] | undefined;
  /** The `uid` of the browser's login session. `undefined`: no user was logged in. */
  readonly session?: string | undefined;
  /** What a request is known by that was sent before: it goes on by this, and not by its parameters. */
  readonly reference?: string | undefined;
  /** The browser was redirected to the host's login page: a user who has logged in there after this time has done so for the request. */
  readonly loginAfter?: Seconds | undefined;
}
