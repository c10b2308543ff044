import type { Context, Middleware, Next } from 'koa';
import compose from 'koa-compose';
import type { Provider } from 'oidc-provider';

import { readAuthorizationParameters } from './authorization-parameters.ts';
import type { ReadParameters } from './authorization-parameters.ts';
import { readTokenBody } from './request-body.ts';
import type { UnwrapToken } from './request-body.ts';
import { requestOf } from './request.ts';
import { withCors } from './response.ts';

/**
 * Makes the Koa context on which the engine runs a request. It has the request, the response and the state of the host's context.
 *
 * For each request the engine defines an accessor `ctx.oidc` (helpers/initialize_app.js). V8 puts accessors into its old
 * generation, and there this one would keep all objects of the request until the next full collection: the memory of the process
 * doubles, and the collector copies each request twice. The context is therefore a proxy that stores the value instead.
 */
export function createEngineContext(engine: Provider, { req, res, state }: Context): Context {
  const context = engine.createContext(req, res) as unknown as EngineContext;
  const proxy = new Proxy(context, HANDLER);
  context.request.ctx = context.response.ctx = proxy;
  context.state = state;
  return proxy;
}

type EngineContext = Context & Record<string | symbol, unknown>;

const HANDLER: ProxyHandler<EngineContext> = {
  defineProperty(target, name, descriptor) {
    if (name !== 'oidc' || !descriptor.get) return Reflect.defineProperty(target, name, descriptor);
    return Reflect.set(target, name, descriptor.get());
  },
  // Without these two, which are not needed, each access takes longer, and each assignment defines a property of the proxy.
  get: (target, name) => target[name],
  set: (target, name, value) => Reflect.set(target, name, value),
};

/** Runs the engine on a request that was started, with what comes before and after it at its endpoint. */
export type RunEngine = (engine: Provider, ctx: Context, next: Next) => Promise<unknown>;

/**
 * @param unwrapToken - changes the parameters of revocation and introspection requests before the engine reads them
 * @param options - how those of the other requests are changed
 */
export function createRunEngine(unwrapToken: UnwrapToken, options: ReadParameters): RunEngine {
  // Composed once per engine. A new engine is made when the signing keys change.
  const composed = new WeakMap<Provider, Middleware>();

  function composedOf(engine: Provider): Middleware {
    const known = composed.get(engine);
    if (known) return known;
    const made = compose([...engine.middleware]);
    composed.set(engine, made);
    return made;
  }

  return async function runEngine(engine, ctx, next) {
    const run = composedOf(engine);
    const { endpoint } = requestOf(ctx);
    switch (endpoint.reads?.from) {
      case 'form':
        return withCors(ctx, async () =>
          readTokenBody(ctx, { ...options, unwrapToken }, async () => run(ctx, next)),
        );
      case 'query':
        readAuthorizationParameters(ctx, options);
        return run(ctx, next);
      default:
        return run(ctx, next);
    }
  };
}
