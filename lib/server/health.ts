import { setTimeout as delay } from 'node:timers/promises';

import type { Middleware } from 'koa';

import type { Logger, Storage } from '../contracts/index.ts';
import { StorageError } from '../errors.ts';

/** Why a server cannot serve. */
export type NotReadyReason = 'closing' | 'storage_unreachable' | 'migrations_pending' | 'keys_missing';

/** Whether a server can serve, and if not, why. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: NotReadyReason };

/** What readiness depends on. */
export interface ReadinessParts {
  readonly storage: {
    readonly keys: Pick<Storage['keys'], 'list'>;
    pendingMigrations: Storage['pendingMigrations'];
  };
  readonly server: { readonly isClosing: boolean };
  readonly logger: Logger;
}

// In milliseconds. Probes give up after a second by default.
const PATIENCE = 800;
const REMEMBERED = 1000;

/**
 * Makes the function that finds out whether a server can serve. It answers within a second, also when the storage hangs,
 * never throws, and asks the storage once a second at most, and not again while an answer is outstanding.
 */
export function createReadiness({ logger, server, storage }: ReadinessParts): () => Promise<Readiness> {
  let last: { readonly readiness: Readiness; readonly at: number } | undefined;
  let looking: Promise<Readiness> | undefined;
  let waiting: Promise<Readiness> | undefined;

  async function look(): Promise<Readiness> {
    try {
      if ((await storage.pendingMigrations()).length > 0) return notReady('migrations_pending');
      if ((await storage.keys.list('token')).length === 0) return notReady('keys_missing');
      return { ready: true };
    } catch (error) {
      if (!(error instanceof StorageError)) logger.error({ err: error }, 'readiness check failed');
      return notReady('storage_unreachable');
    }
  }

  async function lookInTime(): Promise<Readiness> {
    const enough = new AbortController();
    looking ??= look().finally(() => {
      looking = undefined;
    });
    const tooLate = delay(PATIENCE, notReady('storage_unreachable'), { signal: enough.signal });
    try {
      return remember(await Promise.race([looking, tooLate]));
    } finally {
      enough.abort();
      tooLate.catch(() => {});
    }
  }

  function remember(readiness: Readiness): Readiness {
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
    if (server.isClosing) return notReady('closing');
    if (last && performance.now() - last.at < REMEMBERED) return last.readiness;
    waiting ??= lookInTime().finally(() => {
      waiting = undefined;
    });
    return waiting;
  };
}

function notReady(reason: NotReadyReason): Readiness {
  return { ready: false, reason };
}

const LIVE = '/livez';
const READY = '/readyz';

/**
 * Serves `GET /livez`, which answers as long as the process does, and `GET /readyz`, for whoever decides where requests
 * go. The body is that of draft-inadarei-api-health-check-06, section 3: `status` is `pass` or `fail`, and `output` the
 * reason. It is for everybody and holds nothing that is not.
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
