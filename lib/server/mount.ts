import type { Context, Middleware, Next } from 'koa';

import type { User, WorkSpan } from '../contracts/index.ts';
import { GatehouseError } from '../errors.ts';
import { closeAfterResponse } from '../http/connection.ts';
import { hasTooManyParameters } from '../http/query.ts';
import { keepOpener } from '../http/headers.ts';
import { requestIdOf, sendRequestId } from '../http/request.ts';
import { serveOnly } from '../http/served-paths.ts';
import { logFailure } from '../http/unavailable.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createReport } from '../record/request-log.ts';
import { serverMetadata } from '../engine/metadata.ts';
import { outcomeOf, refusedOutcome } from '../engine/outcome.ts';
import { createEndpointOf, endpointsOf } from '../engine/endpoint-paths.ts';
import type { EndpointRow } from '../engine/endpoint-paths.ts';
import { clientErrorStatus, showError } from '../engine/render-error.ts';
import { startRequest } from '../engine/request.ts';
import type { EngineRequest } from '../engine/request.ts';
import { createResourceMetadata } from '../engine/resource-metadata.ts';
import { createNameResources } from '../engine/resource-parameter.ts';
import { createRunEngine } from '../engine/run.ts';
import { createUnwrapToken } from '../engine/unwrap-token.ts';
import { createRedirectPosted } from '../login/posted-request.ts';
import { logRefusal } from '../login/answer-page.ts';
import { createOriginWarning } from '../login/origin-mistakes.ts';
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
  const report = createReport(logger, record.observers);
  const canPost = pages.formPost !== undefined;
  const runEngine = createRunEngine({
    current: engine.current,
    parameters: {
      canPost,
      openHint: parts.requests.openHint,
      signIn: options.aboutUser?.signIn,
      nameResources: createNameResources(options),
    },
    unwrapToken: createUnwrapToken(
      parts.tokens.verify,
      features.flatMap(({ tokens = [] }) => tokens),
    ),
    limiter: limiters.clients,
    metadataOf: (announced) =>
      serverMetadata(announced, options, {
        added: features.map((feature) => feature.metadata?.(announced) ?? {}),
        canPost,
      }),
    onTokenEnded: createForgetEnded(parts.invalidation),
    report,
  });
  const serveResourceMetadata = createResourceMetadata(options);
  const endpointOf = createEndpointOf(options, endpointsOf(features));
  const redirectPosted = options.aboutUser && createRedirectPosted(options, parts.requests);
  const warnOfOtherOrigin = createOriginWarning(options);

  function serves(path: string): boolean {
    // The host's own routes too get a field of the header then.
    if (concurrencyLimit.isDraining || path.startsWith(WELL_KNOWN)) return true;
    const below = pathBelow(paths.mount, path);
    return below !== undefined && endpointOf(below) !== undefined;
  }

  // Not async: the requests for the host's own routes pass through here, and each would pay for a promise.
  function gatehouse(ctx: Context, next: Next): unknown {
    // For the host's own routes too, which come after this middleware.
    if (concurrencyLimit.isDraining) closeAfterResponse(ctx);
    const { path } = ctx;
    if (path.startsWith(WELL_KNOWN) && serveResourceMetadata?.(ctx)) {
      concurrencyLimit.limitSending(ctx.res);
      return sendRequestId(ctx);
    }
    const below = pathBelow(paths.mount, path) ?? insertedWellKnown(options, path, endpointOf);
    const endpoint = below === undefined ? undefined : endpointOf(below);
    return endpoint === undefined ? next() : handle(ctx, next, below!, endpoint);
  }

  async function handle(ctx: Context, next: Next, path: string, endpoint: EndpointRow): Promise<unknown> {
    const request = startRequest(ctx, endpoint);
    const isForBrowsers = endpoint.callers === 'browsers';
    if (!endpoint.mayBeHosts && hasTooManyParameters(ctx)) {
      // The error page reads the query for its language.
      await atUrl(ctx, path, async () => refuse(request, QUERY_TOO_LONG));
      return sendRequestId(ctx);
    }
    if (isForBrowsers) warnOfOtherOrigin(ctx);
    const isAnswered = await atPath(ctx, path, async () => {
      // The metadata, the keys and unknown paths are not counted by the concurrency limit.
      if (!endpoint.isLimited) return answer(request, endpoint);
      // Not the path of the request, below which its client can write anything. The pages have more paths than this table knows.
      const route = endpoint.path && paths.mount + endpoint.path;
      return concurrencyLimit.run(
        ctx,
        async () =>
          record.trace(`gatehouse.${endpoint.name}`, async (span) => answer(request, endpoint, span), route),
        async (overload) => refuse(request, overloadRefusal(overload)),
      );
    });
    if (!isAnswered) return next();
    if (!endpoint.isLimited) concurrencyLimit.limitSending(ctx.res);
    if (isForBrowsers) keepOpener(ctx);
    sendRequestId(ctx);
    return undefined;
  }

  async function refuse(request: EngineRequest, refusal: Refusal): Promise<true> {
    report(refusedOutcome(request, refusal));
    return refuseRequest(pages, request, refusal);
  }

  /** Resolves to `false` when nobody has answered. */
  async function answer(request: EngineRequest, endpoint: EndpointRow, span?: WorkSpan): Promise<boolean> {
    request.span = span;
    const { host } = request;
    if (redirectPosted && host.method === 'POST' && endpoint.callers === 'browsers') {
      if (await showPage(request, redirectPosted)) return true;
    }
    if (endpoint.answeredBy === 'itself') {
      await endpoint.answer(host, request);
      report(outcomeOf(request), request.span);
      return true;
    }
    const { answeredBy } = endpoint;
    switch (answeredBy) {
      case 'engine':
        return runEngine(request);
      case 'pages':
        return showPage(request);
      case 'pages or engine':
        return (await showPage(request)) || runEngine(request);
      default:
        return answeredBy satisfies never;
    }
  }

  async function showPage(
    { host: ctx, span }: EngineRequest,
    show: Middleware = pages.middleware,
  ): Promise<boolean> {
    try {
      let isShown = true;
      await show(ctx, async () => {
        isShown = false;
      });
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
        logRefusal(ctx, error instanceof GatehouseError ? error : { status }, options);
      }
      const code = status === undefined ? 'server_error' : 'invalid_request';
      const description = status !== undefined && error instanceof GatehouseError ? error.message : '';
      await showError(pages, ctx, error, { status: status ?? 500, error: code, description, reference });
      return true;
    }
  }

  return serveOnly(gatehouse, serves);
}

/**
 * Another node may have revoked the token of a revocation request a moment ago. Then nothing was left to revoke here, but the client relies
 * on this answer, and this node may still have the token, or the tokens of its family, in its cache.
 */
function createForgetEnded({
  notify,
}: Pick<ServerBase['invalidation'], 'notify'>): (request: EngineRequest) => void {
  return function forgetEnded({ accessTokenClaims, clientId, credential }) {
    if (accessTokenClaims) notify({ tokenId: accessTokenClaims.jti });
    else if (!credential && clientId !== undefined) notify({ clientId });
  };
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

function pathBelow(mountPath: string, path: string): string | undefined {
  if (mountPath === '') return path;
  return path.startsWith(`${mountPath}/`) ? path.slice(mountPath.length) : undefined;
}

/** RFC 8414 section 3.1 appends the issuer's path to the well-known path, so such a URL is not below the mount path. */
function insertedWellKnown(
  { basePath }: Pick<ResolvedOptions, 'basePath'>,
  path: string,
  endpointOf: (path: string) => EndpointRow | undefined,
): string | undefined {
  if (basePath === '' || !path.endsWith(basePath)) return undefined;
  const wellKnown = path.slice(0, -basePath.length);
  return wellKnown.startsWith(WELL_KNOWN) && endpointOf(wellKnown) ? wellKnown : undefined;
}
