import { randomUUID } from 'node:crypto';

import type { Context, Middleware, Next } from 'koa';
import compose from 'koa-compose';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { Pages } from '../contracts.ts';
import type { ResolvedOptions } from '../options.ts';
import { serverMetadata } from './metadata.ts';
import { ignoreOpenIdParameters } from './openid-parameters.ts';
import { showError } from './render-error.ts';
import { startState } from './request-state.ts';
import { tokenBody } from './token-body.ts';
import { completeResponse } from './token-response.ts';

const ENGINE_PATH = /^\/(?:oauth|\.well-known)\//i;
const WELL_KNOWN = '/.well-known/oauth-authorization-server';

/**
 * Joins the pages and the engine to a host's app. Requests that are not theirs go on to the host untouched.
 *
 * The engine works in a context of its own, so that its cookies are signed with its own keys, its URLs begin at the
 * issuer, and nothing that it changes reaches the host but the response.
 */
export function createMount(
  options: ResolvedOptions,
  {
    provider,
    pages,
    unwrapToken,
  }: { provider: () => Provider; pages: Pages; unwrapToken: Parameters<typeof tokenBody>[0] },
): Middleware {
  const { basePath, logger, mountPath, storage } = options;
  const readBody = tokenBody(unwrapToken);
  const pagePaths = [options.developerPath, options.accountPath].filter((path) => path !== undefined);

  return async function gatehouse(ctx, next) {
    const path = pathBelow(mountPath, ctx.path) ?? insertedWellKnown(basePath, ctx.path);
    if (path === undefined) return next();
    const isEngines = ENGINE_PATH.test(path);
    if (!isEngines && !pagePaths.some((own) => path === own || path.startsWith(`${own}/`))) return next();
    const handled = await atPath(
      ctx,
      path,
      async () => (await showPage(ctx)) || (isEngines && runEngine(ctx)),
    );
    return handled ? undefined : next();
  };

  async function showPage(ctx: Context): Promise<boolean> {
    try {
      return await isHandled((fallThrough) => pages.middleware(ctx, fallThrough));
    } catch (error) {
      const reference = randomUUID();
      logger.error({ err: error, reference }, 'page failed');
      await showError(pages, ctx, error, { status: 500, error: 'server_error', description: '', reference });
      return true;
    }
  }

  async function runEngine(ctx: Context): Promise<boolean> {
    const engine = provider();
    const own = engine.createContext(ctx.req, ctx.res);
    const state = startState(own, ctx);
    own.state = ctx.state;
    const steps = compose([readBody, ignoreOpenIdParameters, ...engine.middleware]);
    if (!(await isHandled((fallThrough) => steps(own, fallThrough)))) return false;
    if ('oidc' in own) await complete(own as unknown as KoaContextWithOIDC);
    if (!state.hasPage) {
      ctx.status = own.status;
      ctx.body = own.body;
    }
    return true;
  }

  async function complete(own: KoaContextWithOIDC): Promise<void> {
    if (own.oidc.route === 'discovery') {
      own.body = serverMetadata(own.body as Record<string, unknown>, options);
    } else {
      await completeResponse(own, storage.credentials, options);
    }
  }
}

/**
 * Runs with the path that the pages and the engine know. The URL is kept on Node's request, which their contexts and
 * the host's share, so the host's is put back.
 */
async function atPath<T>(ctx: Context, path: string, run: () => Promise<T>): Promise<T> {
  const { url } = ctx;
  ctx.path = path;
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
