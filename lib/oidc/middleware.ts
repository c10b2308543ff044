import type { Context, Middleware, Next } from 'koa';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { ClientThrottle, Pages, StoredChange, Trace, WorkSpan } from '../contracts/index.ts';
import { OVERLOAD_REASONS, overloadHeaders } from '../http/concurrency-limit.ts';
import type { ConcurrencyLimit, Overload } from '../http/concurrency-limit.ts';
import { requestIdOf, sendRequestId } from '../http/request-id.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { countGuesses } from './count-guesses.ts';
import { clientEndpointAt, registrationAt, workAt } from './endpoints.ts';
import type { EngineEndpoint } from './endpoints.ts';
import { createEngineContext } from './engine-context.ts';
import { createEngineMiddleware } from './engine-middleware.ts';
import { requestOf, startRequest } from './engine-request.ts';
import type { EngineRequest } from './engine-request.ts';
import { serverMetadata } from './metadata.ts';
import { createNameResources } from './resource-parameter.ts';
import { createResourceMetadata } from './resource-metadata.ts';
import { clientErrorStatus, showError } from './render-error.ts';
import type { RegistrationEndpoint } from './registration-endpoint.ts';
import type { Report } from './report.ts';
import type { UnwrapToken } from './token-body.ts';
import { completeResponse } from './token-response.ts';

const ENGINE_PATH = /^\/(?:oauth|\.well-known)\//i;
const WELL_KNOWN = '/.well-known/oauth-authorization-server';

// The form target of the engine's logout page, which it shows when the user changes. This server never shows that page, so
// requests to its target fall through to the host.
const ENGINE_LOGOUT = /^\/oauth\/logout\/confirm\/?$/i;

// The path of the engine's own page for user codes, and the paths below it. The pages have one instead.
const ENGINE_DEVICE = /^\/oauth\/device(?:\/|$)/i;

// Without the option, nothing of this is here.
const DEVICE = /^\/oauth\/device(?:_authorization)?(?:\/|$)/i;

/**
 * Makes the middleware with the OAuth endpoints and the pages. Any other request falls through to the host unchanged.
 *
 * The engine runs on a Koa context of its own, so that its cookies are signed with its own keys, its URLs start with the
 * issuer, and only the response reaches the host's context.
 */
export function createMount(
  options: ResolvedOptions,
  {
    concurrencyLimit,
    invalidate,
    pages,
    provider,
    registration,
    report,
    throttle,
    trace,
    unwrapToken,
  }: {
    concurrencyLimit: Pick<ConcurrencyLimit, 'isDraining' | 'run'>;
    /** Removes what was revoked from the caches of this node. */
    invalidate: (revoked: StoredChange) => void;
    pages: Pages;
    provider: () => Provider;
    /** `undefined`: apps cannot register themselves. */
    registration: RegistrationEndpoint | undefined;
    report: Report;
    throttle: ClientThrottle;
    trace: Trace;
    unwrapToken: UnwrapToken;
  },
): Middleware {
  const { basePath, deviceAuthorization, logger, mountPath, storage } = options;
  const engineMiddleware = createEngineMiddleware(unwrapToken, createNameResources(options));
  const serveResourceMetadata = createResourceMetadata(options);
  const pagePaths = [options.developerPath, options.accountPath].filter((path) => path !== undefined);

  // Not async: the requests for the host's own routes pass through here, and each would pay for a promise.
  return function gatehouse(ctx, next) {
    // For the host's own routes too, which come after this middleware.
    if (concurrencyLimit.isDraining) ctx.set('Connection', 'close');
    if (serveResourceMetadata?.(ctx)) return sendRequestId(ctx);
    const path = pathBelow(mountPath, ctx.path) ?? insertedWellKnown(basePath, ctx.path);
    if (path === undefined) return next();
    const isEnginePath = ENGINE_PATH.test(path) && !ENGINE_LOGOUT.test(path);
    if (isEnginePath && !deviceAuthorization && DEVICE.test(path)) return next();
    if (!isEnginePath && !pagePaths.some((page) => path === page || path.startsWith(`${page}/`)))
      return next();
    return handle(ctx, next, { path, isEnginePath });
  };

  async function handle(
    ctx: Context,
    next: Next,
    { isEnginePath, path }: { readonly isEnginePath: boolean; readonly path: string },
  ): Promise<unknown> {
    const registered = registration && isEnginePath ? registrationAt(path) : undefined;
    const work = registered ? 'registration' : isEnginePath ? workAt(path) : 'page';
    const endpoint = work === 'page' || work === 'registration' ? undefined : work;
    const answer = async (span?: WorkSpan) =>
      registered
        ? answerRegistration(ctx, registered, span)
        : (endpoint === undefined && (await showPage(ctx, span))) ||
          (isEnginePath && !ENGINE_DEVICE.test(path) && runEngine(ctx, endpoint, span));
    const handled = await atPath(ctx, path, async () => {
      // The metadata, the keys and unknown paths are not counted by the concurrency limit.
      if (work === undefined) return answer();
      return concurrencyLimit.run(
        ctx,
        async () => trace(`gatehouse.${work}`, answer),
        async (overload) => {
          report.overloaded(ctx, OVERLOAD_REASONS[overload]);
          return refuseRequest(pages, ctx, overload);
        },
      );
    });
    if (!handled) return next();
    sendRequestId(ctx);
    return undefined;
  }

  async function showPage(ctx: Context, span: WorkSpan | undefined): Promise<boolean> {
    try {
      const isShown = await isHandled((fallThrough) => pages.middleware(ctx, fallThrough));
      if (isShown)
        span?.set({ 'http.response.status_code': ctx.status, 'gatehouse.request_id': requestIdOf(ctx) });
      return isShown;
    } catch (error) {
      const reference = requestIdOf(ctx);
      const status = clientErrorStatus(error);
      if (status === undefined) {
        span?.fail(error);
        logger.error({ request_id: reference, err: error }, 'page failed');
      }
      const code = status === undefined ? 'server_error' : 'invalid_request';
      await showError(pages, ctx, error, { status: status ?? 500, error: code, description: '', reference });
      return true;
    }
  }

  async function answerRegistration(
    ctx: Context,
    { clientId }: { readonly clientId: string | undefined },
    span: WorkSpan | undefined,
  ): Promise<true> {
    const request = startRequest(ctx, ctx, 'registration');
    await registration!(ctx, request, clientId);
    report.answered(ctx, span);
    return true;
  }

  async function runEngine(
    ctx: Context,
    endpoint: EngineEndpoint | undefined,
    span: WorkSpan | undefined,
  ): Promise<boolean> {
    const engine = provider();
    const engineContext = createEngineContext(engine, ctx);
    const request = startRequest(engineContext, ctx, endpoint);
    const run = engineMiddleware(engine, endpoint);
    try {
      if (!(await isHandled((fallThrough) => run(engineContext, fallThrough)))) return false;
      if ('oidc' in engineContext) await complete(engineContext as unknown as KoaContextWithOIDC);
    } catch (error) {
      // The engine saves the session outside its error handler, so the error of a session that has ended can arrive here.
      if (!request.outcome.mustRestart) {
        // Koa's error handler in the host sends the response; the status is for the log line.
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

  /**
   * Drops the cookies of the engine that this server does not use, and the session cookie unless the session is stored. When
   * the session or the consent ended during the request, redirects the browser to the same URL.
   */
  function completeAuthorization(
    engineContext: Context,
    { authorization, outcome }: EngineRequest,
    engine: Provider,
  ): void {
    const { mustRestart } = outcome;
    const unwanted = [engine.cookieName('interaction'), engine.cookieName('resume')];
    if (!authorization || mustRestart) unwanted.push(engine.cookieName('session'));
    const cookies = [engineContext.response.get('Set-Cookie') ?? []].flat();
    const kept = cookies.filter((cookie) => !unwanted.some((name) => cookie.startsWith(name)));
    if (kept.length < cookies.length) {
      if (kept.length > 0) engineContext.set('Set-Cookie', kept);
      else engineContext.remove('Set-Cookie');
    }
    if (!mustRestart) return;
    engineContext.status = 303;
    engineContext.redirect(options.issuer + engineContext.path + engineContext.search);
  }

  async function complete(engineContext: KoaContextWithOIDC): Promise<void> {
    if (engineContext.oidc.route === 'discovery') {
      engineContext.body = serverMetadata(engineContext.body as Record<string, unknown>, options);
    } else {
      await countGuesses(engineContext, { clients: throttle, storage });
      completeResponse(engineContext);
      if (engineContext.oidc.route === 'device_authorization' && engineContext.status === 200)
        engineContext.body = { ...(engineContext.body as object), interval: deviceAuthorization!.interval };
      if (engineContext.oidc.route === 'revocation' && engineContext.status === 200)
        forgetRevoked(requestOf(engineContext));
    }
  }

  /**
   * Another node may have revoked the token a moment ago. Then nothing was left to revoke here, but the client relies on this
   * answer, and this node may still have the token, or the tokens of its family, in its cache.
   */
  function forgetRevoked({ accessTokenClaims, clientId, credential }: EngineRequest): void {
    if (accessTokenClaims) invalidate({ tokenId: accessTokenClaims.jti });
    else if (!credential && clientId !== undefined) invalidate({ clientId });
  }
}

/**
 * Calls `run` with the URL changed to the path below the mount path, and restores the URL afterwards: it is a property of
 * Node's request, which the contexts of the pages, the engine and the host share.
 */
function atPath<T>(ctx: Context, path: string, run: () => Promise<T>): Promise<T> {
  return path === ctx.path ? run() : atOtherPath(ctx, path, run);
}

async function atOtherPath<T>(ctx: Context, path: string, run: () => Promise<T>): Promise<T> {
  const { url } = ctx;
  // Not `ctx.path = path`, which caches the parsed URL with the changed path, so that the host would read that path later.
  ctx.url = path + ctx.search;
  try {
    return await run();
  } finally {
    ctx.url = url;
  }
}

/** Runs a middleware. Resolves to `false` when it called `next` instead of answering. */
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

/** RFC 8414 section 3.1 appends the issuer's path to the well-known path, so such a URL is not below the mount path. */
function insertedWellKnown(basePath: string, path: string): string | undefined {
  return basePath !== '' && path === WELL_KNOWN + basePath ? WELL_KNOWN : undefined;
}

/** Answers a request that exceeds the limit: clients get an OAuth error (RFC 6749 section 5.2), users a page. */
async function refuseRequest(pages: Pages, ctx: Context, overload: Overload): Promise<true> {
  const unavailable = { status: 503, error: 'temporarily_unavailable' };
  if (clientEndpointAt(ctx.path) ?? registrationAt(ctx.path)) {
    ctx.status = unavailable.status;
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { error: unavailable.error, error_description: OVERLOAD_REASONS[overload] };
  } else {
    await pages.error(ctx, { ...unavailable, description: '', reference: requestIdOf(ctx) });
  }
  ctx.set(overloadHeaders(overload));
  return true;
}
