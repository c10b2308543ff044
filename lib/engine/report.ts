import type { Context } from 'koa';

import type { EndpointOutcome, Logger, WorkSpan } from '../contracts.ts';
import { requestIdOf } from '../request-id.ts';
import { endpointAt } from './endpoints.ts';
import type { Endpoint } from './endpoints.ts';
import { logOutcome } from './log.ts';
import { outcomeOf } from './outcome.ts';
import type { Outcome } from './outcome.ts';
import { stateOf } from './request-state.ts';

/** Tells the log, the trace and the observers what became of a request to the engine. One of the two, once for each. */
export interface Report {
  /** @param own - the engine's context, with the answer */
  answered(own: Context, span: WorkSpan | undefined): void;
  /** The engine has not seen it: the server is too busy, or it stops. */
  notAdmitted(ctx: Context, reason: string): void;
}

export function createReport(
  logger: Logger,
  observers: { readonly answered: ((outcome: EndpointOutcome) => void) | undefined },
): Report {
  function tell(
    endpoint: Endpoint | undefined,
    outcome: Outcome,
    state: Parameters<typeof logOutcome>[3],
  ): void {
    logOutcome(logger, endpoint, outcome, state);
    if (endpoint !== undefined && endpoint !== 'authorization')
      observers.answered?.({ endpoint, ...outcome });
  }

  return {
    answered(own, span) {
      const state = stateOf(own);
      const outcome = outcomeOf(own);
      tell(isPreflight(own) ? undefined : state.endpoint, outcome, state);
      span?.set({
        'http.response.status_code': outcome.status,
        'error.type': outcome.error,
        'oauth.client_id': outcome.clientId,
        'oauth.grant_type': outcome.grantType,
        'gatehouse.request_id': outcome.requestId,
      });
      if (state.failure !== undefined) span?.fail(state.failure);
    },
    notAdmitted(ctx, reason) {
      const error = 'temporarily_unavailable';
      const outcome = {
        requestId: requestIdOf(ctx),
        clientId: undefined,
        grantType: undefined,
        status: 503,
        error,
        seconds: 0,
      };
      tell(isPreflight(ctx) ? undefined : endpointAt(ctx.path), outcome, { denial: { error, reason } });
    },
  };
}

/** A browser asking whether it may ask. */
function isPreflight({ method }: Context): boolean {
  return method === 'OPTIONS';
}
