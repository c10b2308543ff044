import type { Context, Middleware, Next } from 'koa';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { User, WorkSpan } from '../contracts/index.ts';
import { GatehouseError } from '../errors.ts';
import { closeAfterResponse } from '../http/connection.ts';
import { hasTooManyParameters } from '../http/query.ts';
import { keepOpener } from '../http/headers.ts';
import { requestIdOf, sendRequestId } from '../http/request-id.ts';
import { logFailure } from '../http/unavailable.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createReport } from '../record/request-log.ts';
import type { EndpointRule } from '../engine/endpoints.ts';
import { createPlaceOf, endpointsOf } from '../engine/places.ts';
import type { EndpointRow } from '../engine/places.ts';
import { createEngineContext, createRunEngine } from '../engine/run.ts';
import { outcomeOf, refusedOutcome, startRequest } from '../engine/request.ts';
import type { EngineRequest } from '../engine/request.ts';
import { serverMetadata } from '../engine/metadata.ts';
import { createNameResources } from '../engine/resource-parameter.ts';
import { createResourceMetadata } from '../engine/resource-metadata.ts';
import { clientErrorStatus, showError } from '../engine/render-error.ts';
import { createRedirectPosted } from '../login/posted-request.ts';
import { createOriginWarning, refusalReason } from '../login/origin-mistakes.ts';
import { createUnwrapToken } from '../engine/request-body.ts';
import { completeResponse } from '../engine/response.ts';
import type { ServerBase } from './base.ts';
import type { ServerCore } from './core.ts';
import type { ServerEngine } from './engine.ts';
import { overloadRefusal, QUERY_TOO_LONG, refuseRequest } from './refuse-request.ts';
import type { Refusal } from './refuse-request.ts';

const WELL_KNOWN = '/.well-known/';

/**
 * Makes the middleware with the OAuth endpoints and the pages. Any other request falls through to the host unchanged.
 *
 * The engine runs on a Koa context of its own, so that its cookies are signed with its own keys, its URLs start with the
 * issuer, and only the response reaches the host's context.
 */
export function createMount(
  options: ResolvedOptions,
  parts: Pick<ServerEngine, 'engine' | 'pages'> &
    Pick<ServerBase, 'concurrencyLimit' | 'invalidation' | 'limiters' | 'record'> &
    Pick<ServerCore<User>, 'features' | 'requests' | 'tokens'>,
): Middleware {
  const { logger, paths } = options;
  const { concurrencyLimit, engine, features, limiters, pages, record } = parts;
  // Removes what was revoked from the caches of this node.
  const { notify } = parts.invalidation;
  const report = createReport(logger, record.observers);
  const run = createRunEngine(
    createUnwrapToken(
      parts.tokens.verify,
      features.flatMap(({ tokens = [] }) => tokens),
    ),
    {
      canPost: pages.post !== undefined,
      openHint: parts.requests.openHint,
      signIn: options.aboutUser?.signIn,
      nameResources: createNameResources(options),
    },
  );
  const serveResourceMetadata = createResourceMetadata(options);
  const placeOf = createPlaceOf(options, endpointsOf(features));
  const redirectPosted = options.aboutUser && createRedirectPosted(options, parts.requests);
  const warnOfOtherOrigin = createOriginWarning(options);

  // Not async: the requests for the host's own routes pass through here, and each would pay for a promise.
  return function gatehouse(ctx, next) {
    // For the host's own routes too, which come after this middleware.
    if (concurrencyLimit.isDraining) closeAfterResponse(ctx);
    const { path } = ctx;
    if (path.startsWith(WELL_KNOWN) && serveResourceMetadata?.(ctx)) {
      concurrencyLimit.limitSending(ctx.res);
      return sendRequestId(ctx);
    }
    const below = pathBelow(paths.mount, path) ?? insertedWellKnown(options, path, placeOf);
    const place = below === undefined ? undefined : placeOf(below);
    return place === undefined ? next() : handle(ctx, next, below!, place);
  };

  async function handle(ctx: Context, next: Next, path: string, place: EndpointRow): Promise<unknown> {
    const isForBrowsers = place.callers === 'browsers';
    if (!place.mayBeHosts && hasTooManyParameters(ctx)) {
      // The error page reads the query for its language.
      await atUrl(ctx, path, async () => refuse(ctx, place, QUERY_TOO_LONG));
      return sendRequestId(ctx);
    }
    if (isForBrowsers) warnOfOtherOrigin(ctx);
    const isAnswered = await atPath(ctx, path, async () => {
      // The metadata, the keys and unknown paths are not counted by the concurrency limit.
      if (!place.isLimited) return answer(ctx, place);
      // Not the path of the request, below which its client can write anything. The pages have more paths than this table knows.
      const route = place.path && paths.mount + place.path;
      return concurrencyLimit.run(
        ctx,
        async () => record.trace(`gatehouse.${place.name}`, async (span) => answer(ctx, place, span), route),
        async (overload) => refuse(ctx, place, overloadRefusal(overload)),
      );
    });
    if (!isAnswered) return next();
    if (!place.isLimited) concurrencyLimit.limitSending(ctx.res);
    if (isForBrowsers) keepOpener(ctx);
    sendRequestId(ctx);
    return undefined;
  }

  async function refuse(ctx: Context, place: EndpointRule, refusal: Refusal): Promise<true> {
    report(refusedOutcome(ctx, place, refusal));
    return refuseRequest(pages, ctx, place, refusal);
  }

  /** Resolves to `false` when nobody has answered. */
  async function answer(ctx: Context, place: EndpointRow, span?: WorkSpan): Promise<boolean> {
    if (redirectPosted && ctx.method === 'POST' && place.callers === 'browsers') {
      if (await showPage(ctx, span, redirectPosted)) return true;
    }
    if (place.answeredBy === 'itself') return answerItself(ctx, place, span);
    const { answeredBy } = place;
    switch (answeredBy) {
      case 'engine':
        return runEngine(ctx, place, span);
      case 'pages':
        return showPage(ctx, span);
      case 'pages or engine':
        return (await showPage(ctx, span)) || runEngine(ctx, place, span);
      default:
        return answeredBy satisfies never;
    }
  }

  async function showPage(
    ctx: Context,
    span: WorkSpan | undefined,
    show: Middleware = pages.middleware,
  ): Promise<boolean> {
    try {
      const isShown = await isHandled(async (fallThrough) => show(ctx, fallThrough));
      if (isShown)
        span?.set({ 'http.response.status_code': ctx.status, 'gatehouse.request_id': requestIdOf(ctx) });
      return isShown;
    } catch (error) {
      const reference = requestIdOf(ctx);
      const status = clientErrorStatus(error);
      if (status === undefined) {
        span?.fail(error);
        logFailure(logger, { request_id: reference, err: error }, 'page failed');
      } else {
        const isOwn = error instanceof GatehouseError;
        // The message of another one, such as of a body parser, may repeat what was sent.
        const reason = isOwn ? { error: error.code, reason: refusalReason(ctx, error, options.origin) } : {};
        logger.info({ request_id: reference, outcome: 'refused', status, ...reason }, 'page refused');
      }
      const code = status === undefined ? 'server_error' : 'invalid_request';
      const description = status !== undefined && error instanceof GatehouseError ? error.message : '';
      await showError(pages, ctx, error, { status: status ?? 500, error: code, description, reference });
      return true;
    }
  }

  /** Answers at an endpoint that is not the engine's. */
  async function answerItself(
    ctx: Context,
    endpoint: Extract<EndpointRow, { answeredBy: 'itself' }>,
    span: WorkSpan | undefined,
  ): Promise<true> {
    const request = startRequest(ctx, ctx, endpoint);
    await endpoint.answer(ctx, request);
    report(outcomeOf(ctx, request), span);
    return true;
  }

  async function runEngine(
    ctx: Context,
    endpoint: EndpointRule,
    span: WorkSpan | undefined,
  ): Promise<boolean> {
    const provider = engine.provider();
    const engineContext = createEngineContext(provider, ctx);
    const request = startRequest(engineContext, ctx, endpoint);
    try {
      if (!(await isHandled((fallThrough) => run(provider, engineContext, fallThrough)))) return false;
      if ('oidc' in engineContext) await complete(engineContext as unknown as KoaContextWithOIDC, request);
    } catch (error) {
      // The engine saves the session outside its error handler, so the error of a session that has ended can arrive here.
      if (!request.mustRestart) {
        // Koa's error handler in the host sends the response; the status is for the log line.
        engineContext.status = 500;
        request.failure = error;
        report(outcomeOf(engineContext, request), span);
        throw error;
      }
    }
    if (endpoint.reads?.from === 'query') completeAuthorization(engineContext, request, provider);
    report(outcomeOf(engineContext, request), span);
    if (!request.hasPage) {
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
    { mustRestart, session }: EngineRequest,
    provider: Provider,
  ): void {
    const unwanted = [provider.cookieName('interaction'), provider.cookieName('resume')];
    if (!session || mustRestart) unwanted.push(provider.cookieName('session'));
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

  async function complete(engineContext: KoaContextWithOIDC, request: EngineRequest): Promise<void> {
    if (engineContext.oidc.route === 'discovery') {
      const announced = engineContext.body as Record<string, unknown>;
      engineContext.body = serverMetadata(announced, options, {
        added: features.map((feature) => feature.metadata?.(announced) ?? {}),
        canPost: pages.post !== undefined,
      });
    } else {
      await completeResponse(engineContext, request, limiters.clients);
      if (request.endpoint.endsTokens && engineContext.status === 200) forgetRevoked(request);
    }
  }

  /**
   * Another node may have revoked the token a moment ago. Then nothing was left to revoke here, but the client relies on this
   * answer, and this node may still have the token, or the tokens of its family, in its cache.
   */
  function forgetRevoked({ accessTokenClaims, clientId, credential }: EngineRequest): void {
    if (accessTokenClaims) notify({ tokenId: accessTokenClaims.jti });
    else if (!credential && clientId !== undefined) notify({ clientId });
  }
}

/**
 * Calls `run` with the URL changed to the path below the mount path, and restores the URL afterwards: it is a property of
 * Node's request, which the contexts of the pages, the engine and the host share.
 */
function atPath<T>(ctx: Context, path: string, run: () => Promise<T>): Promise<T> {
  return path === ctx.path ? run() : atUrl(ctx, path + ctx.search, run);
}

async function atUrl<T>(ctx: Context, url: string, run: () => Promise<T>): Promise<T> {
  const { url: before } = ctx;
  // Not `ctx.path`, which caches the parsed URL with the changed path, so that the host would read that path later.
  ctx.url = url;
  try {
    return await run();
  } finally {
    ctx.url = before;
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
function insertedWellKnown(
  { basePath }: Pick<ResolvedOptions, 'basePath'>,
  path: string,
  placeOf: (path: string) => EndpointRule | undefined,
): string | undefined {
  if (basePath === '' || !path.endsWith(basePath)) return undefined;
  const wellKnown = path.slice(0, -basePath.length);
  return wellKnown.startsWith(WELL_KNOWN) && placeOf(wellKnown) ? wellKnown : undefined;
}
