import { randomUUID } from 'node:crypto';

import type { Pages } from '../contracts.ts';
import { StorageError } from '../errors.ts';
import type { RenderError } from './configuration.ts';
import { directEndpoint } from './endpoints.ts';
import { stateOf } from './request-state.ts';

/** Shows the engine's errors: a page for people, JSON for clients whatever they accept. */
export function createRenderError(pages: () => Pages): RenderError {
  return async (ctx, out, error) => {
    if (directEndpoint(ctx.path) !== undefined || ctx.oidc.route === 'jwks' || ctx.oidc.route === 'discovery') {
      ctx.body = out;
      return;
    }
    const state = stateOf(ctx);
    state.hasPage = true;
    state.reference = randomUUID();
    const isUnavailable = error instanceof StorageError;
    if (isUnavailable) ctx.set('Retry-After', '1');
    await pages().error(state.host, {
      status: isUnavailable ? 503 : ctx.status,
      error: isUnavailable ? 'temporarily_unavailable' : out.error,
      description: out.error_description ?? '',
      reference: state.reference,
    });
  };
}
