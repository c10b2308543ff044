import type { Context, Middleware, Next } from 'koa';
import compose from 'koa-compose';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { ClientThrottle, Pages, Trace, WorkSpan } from '../contracts/index.ts';
import { OVERLOAD_REASONS, overloadHeaders } from '../http/concurrency-limit.ts';
import type { ConcurrencyLimit, Overload } from '../http/concurrency-limit.ts';
import { requestIdOf, sendRequestId } from '../http/request-id.ts';
import type { ResolvedOptions } from '../options/options.ts';
import { countGuesses } from './count-guesses.ts';
import { directEndpoint, workAt } from './endpoints.ts';
import type { Endpoint } from './endpoints.ts';
import { startRequest } from './engine-request.ts';
import type { EngineRequest } from './engine-request.ts';
import { refuseUnsupported, serverMetadata } from './metadata.ts';
import { clientErrorStatus, showError } from './render-error.ts';
import type { Report } from './report.ts';
import { tokenBody } from './token-body.ts';
import type { UnwrapToken } from './token-body.ts';
import { answerOtherOrigins, completeResponse } from './token-response.ts';

const ENGINE_PATH = /^\/(?:oauth|\.well-known)\//i;
const WELL_KNOWN = '/.well-known/oauth-authorization-server';

// Where the engine's own page for a change of users posts to. That page is never shown, so what is sent there is left to the host.
const ENGINE_LOGOUT = /^\/oauth\/logout\/confirm\/?$/i;

/**
 * Joins the pages and the engine to a host's app. Requests that are not theirs go on to the host untouched.
 *
 * The engine works in a context of its own, so that its cookies are signed with its own keys, its URLs begin at the
 * issuer, and nothing that it changes reaches the host but the response.
 */
export function createMount(
  options: ResolvedOptions,
  {
    concurrencyLimit,
    pages,
    provider,
    report,
    throttle,
    trace,
    unwrapToken,
  }: {
    concurrencyLimit: Pick<ConcurrencyLimit, 'run'>;
    pages: Pages;
    provider: () => Provider;
    report: Report;
    throttle: ClientThrottle;
    trace: Trace;
    unwrapToken: UnwrapToken;
  },
): Middleware {
  const { basePath, logger, mountPath, storage } = options;
  const stepsOf = createSteps(unwrapToken);
  const pagePaths = [options.developerPath, options.accountPath].filter((path) => path !== undefined);

  return async function gatehouse(ctx, next) {
    const path = pathBelow(mountPath, ctx.path) ?? insertedWellKnown(basePath, ctx.path);
    if (path === undefined) return next();
    const isEngines = ENGINE_PATH.test(path) && !ENGINE_LOGOUT.test(path);
    if (!isEngines && !pagePaths.some((page) => path === page || path.startsWith(`${page}/`))) return next();
    const work = isEngines ? workAt(path) : 'page';
    const endpoint = work === 'page' ? undefined : work;
    const answer = async (span?: WorkSpan) =>
      (endpoint === undefined && (await showPage(ctx, span))) ||
      (isEngines && runEngine(ctx, endpoint, span));
    const handled = await atPath(ctx, path, async () => {
      // Nothing is worked out: it is always answered, or it is the host's.
      if (work === undefined) return answer();
      return concurrencyLimit.run(
        ctx,
        async () => trace(`gatehouse.${work}`, answer),
        async (overload) => {
          report.notAdmitted(ctx, OVERLOAD_REASONS[overload]);
          return refuseRequest(pages, ctx, overload);
        },
      );
    });
    if (!handled) return next();
    sendRequestId(ctx);
    return undefined;
  };

  async function showPage(ctx: Context, span: WorkSpan | undefined): Promise<boolean> {
    try {
      const shown = await isHandled((fallThrough) => pages.middleware(ctx, fallThrough));
      if (shown)
        span?.set({ 'http.response.status_code': ctx.status, 'gatehouse.request_id': requestIdOf(ctx) });
      return shown;
    } catch (error) {
      const reference = requestIdOf(ctx);
      const refused = clientErrorStatus(error);
      if (refused === undefined) {
        span?.fail(error);
        logger.error({ request_id: reference, err: error }, 'page failed');
      }
      const code = refused === undefined ? 'server_error' : 'invalid_request';
      await showError(pages, ctx, error, { status: refused ?? 500, error: code, description: '', reference });
      return true;
    }
  }

  async function runEngine(
    ctx: Context,
    endpoint: Endpoint | undefined,
    span: WorkSpan | undefined,
  ): Promise<boolean> {
    const engine = provider();
    const engineContext = engine.createContext(ctx.req, ctx.res);
    const request = startRequest(engineContext, ctx, endpoint);
    engineContext.state = ctx.state;
    const run = stepsOf(engine, endpoint);
    try {
      if (!(await isHandled((fallThrough) => run(engineContext, fallThrough)))) return false;
      if ('oidc' in engineContext) await complete(engineContext as unknown as KoaContextWithOIDC);
    } catch (error) {
      // The engine saves the session outside of what it shows errors for.
      if (!request.outcome.mustBeginAgain) {
        // The host answers it.
        engineContext.status = 500;
        request.outcome.fail(error);
        report.answered(engineContext, span);
        throw error;
      }
    }
    if (endpoint === 'authorization') completeAuthorization(engineContext, request, engine);
    report.answered(engineContext, span);
    if (!request.outcome.hasPage) {
      ctx.status = engineContext.status;
      ctx.body = engineContext.body;
    }
    return true;
  }

  /** Keeps the cookies of a session that is there, and of nothing else; when it has ended meanwhile, asks for the request again. */
  function completeAuthorization(
    engineContext: Context,
    { authorization, outcome }: EngineRequest,
    engine: Provider,
  ): void {
    const isEnded = outcome.mustBeginAgain;
    const names = [engine.cookieName('interaction'), engine.cookieName('resume')];
    if (!authorization || isEnded) names.push(engine.cookieName('session'));
    const cookies = [engineContext.response.get('Set-Cookie') ?? []].flat();
    const kept = cookies.filter((cookie) => !names.some((name) => cookie.startsWith(name)));
    if (kept.length < cookies.length) {
      if (kept.length > 0) engineContext.set('Set-Cookie', kept);
      else engineContext.remove('Set-Cookie');
    }
    if (!isEnded) return;
    engineContext.status = 303;
    engineContext.redirect(options.issuer + engineContext.path + engineContext.search);
  }

  async function complete(engineContext: KoaContextWithOIDC): Promise<void> {
    if (engineContext.oidc.route === 'discovery') {
      engineContext.body = serverMetadata(engineContext.body as Record<string, unknown>, options);
    } else {
      await countGuesses(engineContext, { clients: throttle, storage });
      completeResponse(engineContext);
    }
  }
}

/**
 * Runs with the path that the pages and the engine know. The URL is kept on Node's request, which their contexts and
 * the host's share, so the host's is put back.
 */
async function atPath<T>(ctx: Context, path: string, run: () => Promise<T>): Promise<T> {
  if (path === ctx.path) return run();
  const { url } = ctx;
  // Not by `ctx.path`, which would leave this path with the parsed form of the host's URL, for whoever reads that next.
  ctx.url = path + ctx.search;
  try {
    return await run();
  } finally {
    ctx.url = url;
  }
}

/** Runs a middleware and tells whether it answered instead of calling the next one. */
async function isHandled(run: (fallThrough: Next) => Promise<unknown>): Promise<boolean> {
  let handled = true;
  await run(async () => {
    handled = false;
  });
  return handled;
}

function pathBelow(mountPath: string, path: string): string | undefined {
  if (mountPath === '') return path;
  return path.startsWith(`${mountPath}/`) ? path.slice(mountPath.length) : undefined;
}

/** RFC 8414 section 3.1 puts the issuer's path behind the well-known one, where a mount path in front cannot match. */
function insertedWellKnown(basePath: string, path: string): string | undefined {
  return basePath !== '' && path === WELL_KNOWN + basePath ? WELL_KNOWN : undefined;
}

/** Which steps a request takes before the engine's own: by what it is a request to. */
function createSteps(
  unwrapToken: UnwrapToken,
): (engine: Provider, endpoint: Endpoint | undefined) => Middleware {
  const forClients: readonly Middleware[] = [answerOtherOrigins, tokenBody(unwrapToken)];
  const steps: Readonly<Record<Endpoint | 'other', readonly Middleware[]>> = {
    authorization: [refuseUnsupported, ignoreOpenIdParameters],
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

/** Answers a request that is not let in: clients with an OAuth error (RFC 6749 section 5.2), people with a page. Says that it is answered. */
async function refuseRequest(pages: Pages, ctx: Context, overload: Overload): Promise<true> {
  const unavailable = { status: 503, error: 'temporarily_unavailable' };
  if (directEndpoint(ctx.path)) {
    ctx.status = unavailable.status;
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { error: unavailable.error, error_description: OVERLOAD_REASONS[overload] };
  } else {
    await pages.error(ctx, { ...unavailable, description: '', reference: requestIdOf(ctx) });
  }
  ctx.set(overloadHeaders(overload));
  return true;
}

const OPENID_ONLY = new Set(['acr_values', 'claims', 'claims_locales', 'id_token_hint', 'max_age', 'nonce']);

/**
 * Takes OpenID Connect's own parameters out of an authorization request. The engine refuses them in a request without
 * the scope `openid`, but to an OAuth 2.0 server they are unknown, and it ignores those (RFC 6749 section 3.1). Client
 * libraries that send a `nonce` with every request work.
 */
const ignoreOpenIdParameters: Middleware = async (ctx, next) => {
  const known = Object.entries(ctx.query).filter(([name]) => !OPENID_ONLY.has(name));
  if (known.length < Object.keys(ctx.query).length) ctx.query = Object.fromEntries(known);
  await next();
};
