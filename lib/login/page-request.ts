import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import type { StoredClient } from '../contracts/index.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { LoginSession } from './session-model.ts';

/**
 * What is known of one HTTP request for a page: each fact is found once, by the step that needs it first. The pages hand their
 * context from step to step, so it is a property of that.
 */
export interface PageRequest {
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

/** An authorization request that waits for this browser. */
export interface OpenInteraction {
  readonly uid: string;
  readonly request: AuthorizationRequest;
  readonly stored: StoredClient;
  /** The user who is logged in on the browser that sent the request. */
  readonly userId: string | undefined;
}

export type PageRequestOf = (this: void, ctx: Context) => PageRequest;

const PAGE_REQUEST = Symbol('gatehouse.page');

export function createPageRequestOf(provider: () => Provider): PageRequestOf {
  return function pageRequestOf(ctx: Context & { [PAGE_REQUEST]?: PageRequest }) {
    return (ctx[PAGE_REQUEST] ??= { cookies: provider().createContext(ctx.req, ctx.res).cookies });
  };
}
