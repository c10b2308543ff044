import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { EndpointOutcome } from '../contracts.ts';
import { StorageError } from '../errors.ts';
import { clientIdOf, grantTypeOf } from './request-facts.ts';
import { stateOf } from './request-state.ts';

/** What became of a request to one of the engine's endpoints, that of authorization included. */
export type Outcome = Omit<EndpointOutcome, 'endpoint'>;

/** Reads it from the engine's context when the answer is ready, or when there will be none. */
export function outcomeOf(own: Context): Outcome {
  const { denial, failure, requestId, startedAt } = stateOf(own);
  // Not there when the request was answered before the engine saw it.
  const known = 'oidc' in own ? (own as unknown as KoaContextWithOIDC) : undefined;
  return {
    requestId,
    clientId: known && clientIdOf(known),
    grantType: known && grantTypeOf(known),
    status: own.status,
    error: failure === undefined ? denial?.error : errorOfFailure(failure),
    seconds: (performance.now() - startedAt) / 1000,
  };
}

/** The code of what a client is told about a fault of the server. */
export function errorOfFailure(failure: unknown): 'temporarily_unavailable' | 'server_error' {
  return failure instanceof StorageError ? 'temporarily_unavailable' : 'server_error';
}
