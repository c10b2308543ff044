import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Provider } from 'oidc-provider';

import type { EngineEndpoint } from './endpoints.ts';
import { ignoreOpenIdParameters, refuseUnsupported } from './metadata.ts';
import { nameRequestedResource } from './resource-parameter.ts';
import type { NameResources } from './resource-parameter.ts';
import { tokenBody } from './request-body.ts';
import type { UnwrapToken } from './request-body.ts';
import { handleCors } from './response.ts';

type Step = EngineEndpoint | 'other';

/** Composes the middleware of each endpoint with that of the engine. */
export function createEngineMiddleware(
  unwrapToken: UnwrapToken,
  nameResources: NameResources | undefined,
): (engine: Provider, endpoint: EngineEndpoint | undefined) => Middleware {
  const named = nameResources ? [nameRequestedResource(nameResources)] : [];
  const stepsOf = (kind: Step, engine: Provider): readonly Middleware[] => {
    if (kind === 'other') return [];
    if (kind === 'authorization') return [refuseUnsupported, ignoreOpenIdParameters, ...named];
    const isStream = hasAddedMiddleware(engine);
    return [handleCors, tokenBody(unwrapToken, nameResources, { isStream })];
  };
  // Composed once per engine. A new engine is made when the signing keys change.
  const composed = new WeakMap<Provider, Map<Step, Middleware>>();

  return (engine, endpoint) => {
    const kind = endpoint ?? 'other';
    const ofEngine = composed.get(engine) ?? new Map<typeof kind, Middleware>();
    const cached = ofEngine.get(kind);
    if (cached) return cached;
    const middleware = compose([...stepsOf(kind, engine), ...engine.middleware]);
    composed.set(engine, ofEngine.set(kind, middleware));
    return middleware;
  };
}

// The middleware of each engine when it was made.
const ownMiddleware = new WeakMap<Provider, readonly unknown[]>();

/** Remembers the engine's own middleware, before the host adds any. */
export function rememberMiddleware(engine: Provider): void {
  ownMiddleware.set(engine, [...engine.middleware]);
}

/** Whether the host has added middleware to the engine, which may read the request as any stream. */
function hasAddedMiddleware(engine: Provider): boolean {
  const own = ownMiddleware.get(engine) ?? [];
  const { middleware } = engine;
  return middleware.length !== own.length || middleware.some((step, index) => step !== own[index]);
}
