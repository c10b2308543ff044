import type { Context, Next } from 'koa';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { ReportOutcome } from '../contracts/index.ts';
import { attachRequest } from '../http/request.ts';
import { readAuthorizationParameters } from './authorization-parameters.ts';
import type { ParameterChanges } from './authorization-parameters.ts';
import { correctAuthorization, correctResponse, withCors } from './corrections.ts';
import type { CorrectionParts } from './corrections.ts';
import { outcomeOf } from './outcome.ts';
import { readTokenBody } from './request-body.ts';
import { engineRequestOf } from './request.ts';
import type { EngineRequest, RunningEngine } from './request.ts';
import type { UnwrapToken } from './unwrap-token.ts';

/**
 * Holds the engine of a server. The engine reads its signing keys only when it is made, so a new one is made when they change;
 * requests that are under way continue with the engine that they started with.
 */
export class Engine {
  #make: (() => RunningEngine) | undefined;
  #current: RunningEngine | undefined;

  /** Makes the first engine. Separate from the constructor, because the pages need this object and `make` needs the pages. */
  start(make: () => RunningEngine): void {
    this.#make = make;
    this.#current = make();
  }

  /** Makes a new engine for later requests. Does nothing before `start`. */
  restart(): void {
    if (this.#make) this.#current = this.#make();
  }

  /** The current engine. Bound, as the next one, so that it can be passed as a function. @throws Error before `start` */
  readonly current = (): RunningEngine => {
    if (!this.#current) throw new Error('The engine was used before it was started');
    return this.#current;
  };

  readonly provider = (): Provider => this.current().provider;
}

/** What running the engine needs of the server. */
export interface RunParts extends CorrectionParts {
  /** The engine for a request that begins now. */
  readonly current: () => RunningEngine;
  /** How the parameters of requests are changed before the engine reads them. */
  readonly parameters: ParameterChanges;
  /** Changes those of revocation and introspection requests. */
  readonly unwrapToken: UnwrapToken;
  /** Called when a client has ended a token. */
  readonly onTokenEnded: (request: EngineRequest) => void;
  readonly report: ReportOutcome;
}

/**
 * Makes the function that lets the engine answer a request. It resolves to `false` when the path is none of the engine's.
 *
 * A request to the token endpoint passes, in this order:
 *
 * 1. `readTokenBody` (request-body.ts) makes a form of its parameters;
 * 2. the engine looks the client up (its shared/client_auth.js): `find` of provider.ts;
 * 3. the engine compares its secret: `hasSecret` of provider.ts; or verifies its assertion: client-assertion.ts;
 * 4. the engine asks whether the client may use the grant type (its actions/token.js): `allowsGrantType` of provider.ts;
 * 5. the engine calls the grant that `registerGrant` of provider.ts has given it: a file of lib/token, which sets the response;
 * 6. the engine emits `grant.success` or `grant.error`: audit.ts records it;
 * 7. `correctResponse` (corrections.ts) counts a refused client, and corrects what the engine has no option for;
 * 8. the line of the log is written (outcome.ts).
 */
export function createRunEngine(parts: RunParts): (request: EngineRequest) => Promise<boolean> {
  const { current, onTokenEnded, parameters, report, unwrapToken } = parts;

  /** Runs the engine on the parameters that are read before it. */
  async function run(request: EngineRequest, ctx: Context, next: Next): Promise<unknown> {
    const { endpoint, engine } = request;
    switch (endpoint.reads?.from) {
      case 'form':
        return withCors(request, ctx, async () =>
          readTokenBody(request, ctx, { ...parameters, unwrapToken }, async () => engine!.run(ctx, next)),
        );
      case 'query':
        readAuthorizationParameters(request, ctx, parameters);
        return engine!.run(ctx, next);
      default:
        return engine!.run(ctx, next);
    }
  }

  return async function runEngine(request) {
    const { endpoint, host } = request;
    // Before the body arrives: the signing keys may change meanwhile.
    const engine = current();
    const ctx = createEngineContext(engine.provider, host);
    request.engine = engine;
    request.engineContext = ctx;
    attachRequest(ctx, request);
    try {
      let isAnswered = true;
      await run(request, ctx, async () => {
        isAnswered = false;
      });
      if (!isAnswered) return false;
      if (request.oidc) await correctResponse(request, ctx, parts);
    } catch (error) {
      // The engine saves the session outside its error handler, so the error of a session that has ended can arrive here.
      if (!request.mustRestart) {
        // Koa's error handler in the host sends the response; the status is for the log line.
        ctx.status = 500;
        request.failure = error;
        report(outcomeOf(request), request.span);
        throw error;
      }
    }
    if (endpoint.reads?.from === 'query') correctAuthorization(request, ctx);
    if (endpoint.endsTokens && ctx.status === 200) onTokenEnded(request);
    report(outcomeOf(request), request.span);
    if (!request.hasPage) {
      host.status = ctx.status;
      host.body = ctx.body;
    }
    return true;
  };
}

/**
 * Makes the Koa context on which the engine runs a request. It has the request, the response and the state of the host's context.
 *
 * For each request the engine defines an accessor `ctx.oidc` (helpers/initialize_app.js). V8 puts accessors into its old
 * generation, and there this one would keep all objects of the request until the next full collection: the memory of the process
 * doubles, and the collector copies each request twice. The context is therefore a proxy that stores the value instead.
 */
function createEngineContext(provider: Provider, { req, res, state }: Context): Context {
  const context = provider.createContext(req, res) as unknown as EngineContext;
  const proxy = new Proxy(context, HANDLER);
  context.request.ctx = context.response.ctx = proxy;
  context.state = state;
  return proxy;
}

type EngineContext = Context & Record<string | symbol, unknown>;

const HANDLER: ProxyHandler<EngineContext> = {
  defineProperty(target, name, descriptor) {
    if (name !== 'oidc' || !descriptor.get) return Reflect.defineProperty(target, name, descriptor);
    const oidc = descriptor.get() as KoaContextWithOIDC['oidc'];
    engineRequestOf(target).oidc = oidc;
    return Reflect.set(target, name, oidc);
  },
  // Without these two, which are not needed, each access takes longer, and each assignment defines a property of the proxy.
  get: (target, name) => target[name],
  set: (target, name, value) => Reflect.set(target, name, value),
};
