import { setTimeout as delay } from 'node:timers/promises';

import type { Middleware } from 'koa';

import type { Logger, Storage } from '../contracts/index.ts';
import { StorageError } from '../errors.ts';

/** The reason why a server is not ready for requests. */
export type NotReadyReason = 'closing' | 'storage_unreachable' | 'migrations_pending' | 'keys_missing';

/** Whether a server is ready for requests, and the reason when it is not. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: NotReadyReason };

/** The parts of a server that its readiness depends on. */
export interface ReadinessParts {
  readonly storage: {
    readonly keys: Pick<Storage['keys'], 'list'>;
    pendingMigrations: Storage['pendingMigrations'];
  };
  readonly server: { readonly isDraining: boolean };
  readonly logger: Logger;
}

// In milliseconds. The probes of Kubernetes time out after a second by default.
const TIMEOUT = 800;
const MAX_AGE = 1000;

/**
 * Creates the function behind `auth.ready()`. It resolves within a second, also when the storage hangs, and never throws. It
 * reads from the storage at most once a second, and not again while a read is outstanding, so that probes do not load a slow
 * database.
 */
export function createReadiness({ logger, server, storage }: ReadinessParts): () => Promise<Readiness> {
  let last: { readonly readiness: Readiness; readonly at: number } | undefined;
  let probe: Promise<Readiness> | undefined;
  let check: Promise<Readiness> | undefined;

  async function probeStorage(): Promise<Readiness> {
    try {
      if ((await storage.pendingMigrations()).length > 0) return notReady('migrations_pending');
      if ((await storage.keys.list('token')).length === 0) return notReady('keys_missing');
      return { ready: true };
    } catch (error) {
      if (!(error instanceof StorageError)) logger.error({ err: error }, 'readiness check failed');
      return notReady('storage_unreachable');
    }
  }

  async function probeWithTimeout(): Promise<Readiness> {
    const done = new AbortController();
    probe ??= probeStorage().finally(() => {
      probe = undefined;
    });
    const timeout = delay(TIMEOUT, notReady('storage_unreachable'), { signal: done.signal });
    try {
      return cache(await Promise.race([probe, timeout]));
    } finally {
      done.abort();
      timeout.catch(() => {});
    }
  }

  function cache(readiness: Readiness): Readiness {
    logChange(readiness);
    last = { readiness, at: performance.now() };
    return readiness;
  }

  function logChange(readiness: Readiness): void {
    const before = last?.readiness ?? { ready: true };
    if (before.ready === readiness.ready) return;
    if (readiness.ready) logger.info({}, 'ready again');
    else logger.warn({ reason: readiness.reason }, 'not ready');
  }

  return async function ready() {
    if (server.isDraining) return notReady('closing');
    if (last && performance.now() - last.at < MAX_AGE) return last.readiness;
    check ??= probeWithTimeout().finally(() => {
      check = undefined;
    });
    return check;
  };
}

function notReady(reason: NotReadyReason): Readiness {
  return { ready: false, reason };
}

const LIVE = '/livez';
const READY = '/readyz';

/**
 * Serves `GET /livez`, for restarts of the process, and `GET /readyz`, for load balancers. The body has the form of
 * draft-inadarei-api-health-check-06, section 3: `status` is `pass` or `fail`, and `output` the reason. The endpoints need no
 * authentication, so the body holds no other detail.
 */
export function healthEndpoints(ready: () => Promise<Readiness>): Middleware {
  return async function health(ctx, next) {
    const { method, path } = ctx;
    const isHealth = path === LIVE || path === READY;
    if (!isHealth || (method !== 'GET' && method !== 'HEAD')) return next();
    const readiness: Readiness = path === LIVE ? { ready: true } : await ready();
    ctx.status = readiness.ready ? 200 : 503;
    ctx.set({
      'Content-Type': 'application/health+json; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    });
    ctx.body = JSON.stringify(
      readiness.ready ? { status: 'pass' } : { status: 'fail', output: readiness.reason },
    );
    return undefined;
  };
}
