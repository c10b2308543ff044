import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Provider } from 'oidc-provider';

import { answerOtherOrigins } from './cross-origin.ts';
import type { Endpoint } from './endpoints.ts';
import { ignoreOpenIdParameters } from './openid-parameters.ts';
import { refuseFormPost } from './response-modes.ts';
import type { UnwrapToken } from './structured-token.ts';
import { tokenBody } from './token-body.ts';

/** Which steps a request takes before the engine's own: by what it is a request to. */
export function createSteps(
  unwrapToken: UnwrapToken,
): (engine: Provider, endpoint: Endpoint | undefined) => Middleware {
  const forClients: readonly Middleware[] = [answerOtherOrigins, tokenBody(unwrapToken)];
  const steps: Readonly<Record<Endpoint | 'other', readonly Middleware[]>> = {
    authorization: [refuseFormPost, ignoreOpenIdParameters],
    token: forClients,
    revocation: forClients,
    introspection: forClients,
    other: [],
  };
  // Put together once: there is one engine at a time, and another one when the signing keys have changed.
  const composed = new WeakMap<Provider, Map<Endpoint | 'other', Middleware>>();

  return (engine, endpoint) => {
    const kind = endpoint ?? 'other';
    const ofEngine = composed.get(engine) ?? new Map<typeof kind, Middleware>();
    const known = ofEngine.get(kind);
    if (known) return known;
    const made = compose([...steps[kind], ...engine.middleware]);
    composed.set(engine, ofEngine.set(kind, made));
    return made;
  };
}
