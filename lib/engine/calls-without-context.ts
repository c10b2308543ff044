import { Provider } from 'oidc-provider';
import type { AccessToken, Adapter, Client, ClientCredentials } from 'oidc-provider';

import { attachedRequest } from '../http/request.ts';
import type { EngineRequest } from './request.ts';

/*
 * What the engine calls without a context. The request is found by the engine's AsyncLocalStorage, in this file only, and handed on by
 * parameter:
 *
 * - the operations of adapters (models/base_model.js and the models)
 * - `Client.find` (shared/client_auth.js, actions/authorization/client.js, actions/introspection.js and others)
 * - `compareClientSecret` (shared/client_auth.js)
 * - `grantTypeAllowed` (actions/token.js, actions/authorization/client.js, helpers/revoke.js and others)
 * - `ReplayDetection.unique` (shared/jwt_client_auth.js)
 * - the events `access_token.destroyed` and `client_credentials.destroyed` (models/base_model.js)
 *
 * A hook that gets a context finds the request by `engineRequestOf()`.
 */

/** `undefined`: outside of the engine's routes, such as where a page asks the engine for a client, or in those of an engine of the host. */
function currentRequest(): EngineRequest | undefined {
  const { ctx } = Provider;
  const request = ctx && attachedRequest(ctx);
  return request && 'endpoint' in request ? (request as EngineRequest) : undefined;
}

/** The operations of a model of the engine, each with the request that needs it. `undefined`: outside of the engine's routes. */
export type Model = {
  readonly [Name in keyof Adapter]?: (
    request: EngineRequest | undefined,
    ...values: Parameters<Adapter[Name]>
  ) => ReturnType<Adapter[Name]>;
};

/** The adapter with the operations of a model. */
export function adapterOf(model: Model): Partial<Adapter> {
  const operations = Object.entries(model as Record<string, (...values: unknown[]) => unknown>);
  return Object.fromEntries(
    operations.map(([name, operation]) => [
      name,
      async (...values: unknown[]) => operation(currentRequest(), ...values),
    ]),
  );
}

/** What takes the place of the engine's own functions. */
export interface ClientCalls {
  /** Finds the client of a request, or that of a token. */
  readonly find: (request: EngineRequest | undefined, id: unknown) => Promise<Client | undefined>;
  /** Whether a secret is that of the client, which was found just before. */
  readonly hasSecret: (request: EngineRequest, client: Client, presented: string) => Promise<boolean>;
  readonly allowsGrantType: (request: EngineRequest | undefined, client: Client, type: string) => boolean;
}

export function replaceClientCalls(
  provider: Provider,
  { find, hasSecret, allowsGrantType }: ClientCalls,
): void {
  provider.Client.find = async (id) => find(currentRequest(), id);
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(presented) {
    return hasSecret(currentRequest()!, this, presented);
  };
  provider.Client.prototype.grantTypeAllowed = function grantTypeAllowed(this: Client, type: string) {
    return allowsGrantType(currentRequest(), this, type);
  };
}

/** @param isFirstUse - whether a client uses the id of an assertion for the first time, which is valid until then */
export function replaceReplayDetection(
  provider: Provider,
  isFirstUse: (
    request: EngineRequest | undefined,
    assertion: { readonly clientId: string; readonly id: string; readonly expiresAt: number },
  ) => Promise<boolean>,
): void {
  provider.ReplayDetection.unique = async (clientId, id, expiresAt) =>
    isFirstUse(currentRequest(), { clientId, id, expiresAt });
}

/** Calls a function with each token that its client has revoked. */
export function onTokenDestroyed(
  provider: Provider,
  call: (request: EngineRequest | undefined, token: AccessToken | ClientCredentials) => void,
): void {
  const listener = (token: AccessToken | ClientCredentials): void => call(currentRequest(), token);
  provider.on('access_token.destroyed', listener);
  provider.on('client_credentials.destroyed', listener);
}
