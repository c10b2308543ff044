import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

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
