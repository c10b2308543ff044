import type { Context, Middleware, Next } from 'koa';

import { toSeconds } from '../contracts/duration.ts';
import { readState } from '../contracts/clock.ts';
import type { ConcurrencyLimit, Logger, Milliseconds, Storage, StorageState } from '../contracts/index.ts';
import { StorageError } from '../errors.ts';
import { sendProblem } from '../http/problem.ts';
import { hasTooManyParameters, TOO_MANY_PARAMETERS_PROBLEM } from '../http/query.ts';
import { serveOnly } from '../http/served-paths.ts';
import { endsWithin } from './shutdown.ts';

/** The reason why a server is not ready for requests. */
export type NotReadyReason = 'closing' | 'storage_unreachable' | 'migrations_pending' | 'keys_missing';

/**
 * What is wrong with a server that is ready: its clock differs from the database's by more than 5 seconds, or tokens can be verified
 * but not issued or revoked, because within the last minute changes of the database have failed.
 */
export type ReadinessWarning = 'clock_differs' | NonNullable<StorageState['failing']>;

/** Whether a server is ready for requests, and the reason when it is not. */
export type Readiness =
  | { readonly ready: true; readonly warnings?: readonly ReadinessWarning[] }
  | { readonly ready: false; readonly reason: NotReadyReason };

/** The readiness of a server. */
export interface ReadinessProbe {
  /** The function behind `auth.ready()`. */
  readonly ready: () => Promise<Readiness>;
  /** Reads the state of the storage, and logs each warning that begins or ends. @throws StorageError */
  readonly watch: () => Promise<void>;
}

/** The parts of a server that its readiness depends on. */
export interface ReadinessParts {
  readonly storage: {
    readonly keys: Pick<Storage['keys'], 'list'>;
    pendingMigrations: Storage['pendingMigrations'];
    state: Storage['state'];
  };
  readonly server: { readonly isDraining: boolean };
  readonly logger: Logger;
}

// In seconds. The probes of Kubernetes time out after a second by default.
const TIMEOUT = 0.8;
const MAX_AGE: Milliseconds = 1000;

const CLOCK_TOLERANCE: Milliseconds = 5000;

/**
 * Creates the readiness of a server. `ready()` resolves within a second, also when the storage hangs, and never throws. It
 * reads from the storage at most once a second, and not again while a read is outstanding, so that probes do not load a slow
 * database.
 */
export function createReadiness({ logger, server, storage }: ReadinessParts): ReadinessProbe {
  let last: { readonly readiness: Readiness; readonly at: Milliseconds } | undefined;
  let probe: Promise<Readiness> | undefined;
  let warned: ReadonlySet<ReadinessWarning> = new Set();

  async function readWarnings(): Promise<readonly ReadinessWarning[]> {
    const { ahead, state } = await readState(storage);
    const begun = new Map<ReadinessWarning, object>();
    if (Math.abs(ahead) > CLOCK_TOLERANCE)
      begun.set('clock_differs', { seconds_ahead: Math.round(toSeconds(-ahead)) });
    if (state.failing) begun.set(state.failing, {});
    for (const [warning, fields] of begun) {
      if (!warned.has(warning)) logger.warn({ ...fields, warning }, WARNINGS[warning]);
    }
    for (const warning of warned) if (!begun.has(warning)) logger.info({ warning }, 'warning has ended');
    warned = new Set(begun.keys());
    return [...warned];
  }

  async function probeStorage(): Promise<Readiness> {
    try {
      if ((await storage.pendingMigrations()).length > 0) return notReady('migrations_pending');
      if ((await storage.keys.list('token')).length === 0) return notReady('keys_missing');
      const warnings = await readWarnings();
      return warnings.length === 0 ? { ready: true } : { ready: true, warnings };
    } catch (error) {
      if (!(error instanceof StorageError)) logger.error({ err: error }, 'readiness check failed');
      return notReady('storage_unreachable');
    }
  }

  async function ready(): Promise<Readiness> {
    if (server.isDraining) return notReady('closing');
    if (last && performance.now() - last.at < MAX_AGE) return last.readiness;
    const reading = (probe ??= probeStorage().finally(() => {
      probe = undefined;
    }));
    const readiness = (await endsWithin(TIMEOUT, reading)) ? await reading : notReady('storage_unreachable');
    const before = last?.readiness ?? { ready: true };
    if (readiness.ready && !before.ready) logger.info({}, 'ready again');
    if (!readiness.ready && before.ready) logger.warn({ reason: readiness.reason }, 'not ready');
    last = { readiness, at: performance.now() };
    return readiness;
  }

  return { ready, watch: async () => void (await readWarnings()) };
}

const WARNINGS: Readonly<Record<ReadinessWarning, string>> = {
  clock_differs: 'the clock of this machine differs from that of the database',
  disk_full: 'changes fail because the disk of the database is full',
  database_locked: 'changes fail because another process keeps the database locked',
};

function notReady(reason: NotReadyReason): Readiness {
  return { ready: false, reason };
}

const LIVE = '/livez';
const READY = '/readyz';

/**
 * Serves `GET /livez`, for restarts of the process, and `GET /readyz`, for load balancers. The body has the form of
 * draft-inadarei-api-health-check-06, section 3: `status` is `pass`, `warn` with the warnings as `notes`, or `fail` with the reason
 * as `output`. The endpoints need no authentication, so the body holds no other detail.
 */
export function healthEndpoints(
  ready: () => Promise<Readiness>,
  server: Pick<ConcurrencyLimit, 'limitSending'>,
): Middleware {
  // Not async: each request of the host passes through it.
  function health(ctx: Context, next: Next): unknown {
    const { method, path } = ctx;
    return isHealth(path) && (method === 'GET' || method === 'HEAD') ? answer(ctx) : next();
  }

  async function answer(ctx: Context): Promise<void> {
    const { path } = ctx;
    if (hasTooManyParameters(ctx)) return sendProblem(ctx, TOO_MANY_PARAMETERS_PROBLEM);
    const readiness: Readiness = path === LIVE ? { ready: true } : await ready();
    ctx.status = readiness.ready ? 200 : 503;
    ctx.set({
      'Content-Type': 'application/health+json; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    });
    ctx.body = JSON.stringify(healthOf(readiness));
    server.limitSending(ctx.res);
  }

  return serveOnly(health, isHealth);
}

function isHealth(path: string): boolean {
  return path === LIVE || path === READY;
}

function healthOf(readiness: Readiness): object {
  if (!readiness.ready) return { status: 'fail', output: readiness.reason };
  return readiness.warnings ? { status: 'warn', notes: readiness.warnings } : { status: 'pass' };
}
