import type { Middleware } from 'koa';
import { Registry } from 'prom-client';
import type { OpenMetricsContentType } from 'prom-client';

import type { AuditLog, Observer } from '../contracts.ts';
import { countEvents } from './event-metrics.ts';
import { countGuard } from './guard-metrics.ts';
import { showNow } from './gauges.ts';
import { countTokens } from './token-metrics.ts';

/** A register of prom-client, of either text format. */
export type MetricsRegister = Registry | Registry<OpenMetricsContentType>;

/** What the metrics ask of the authorization server. `createAuthServer()` returns one. */
export interface ObservedServer {
  readonly admission: {
    /** How many requests are let in and have not ended. */
    readonly count: number;
  };
  readonly events: Pick<AuditLog, 'on'>;
  readonly keys: {
    /** The signing keys, with times in seconds since 1970. */
    list(): readonly { readonly status: string; readonly createdAt: number; readonly activeAt: number }[];
  };
  /** Tells of each request to the endpoints and the guard. The function that comes back stops it. */
  observe(this: void, observer: Observer): () => void;
}

/** What `createMetrics()` takes. */
export interface MetricsOptions {
  /**
   * Where the metrics are registered. Pass prom-client's own `register` to have them next to those of the process; two
   * servers need two.
   * @default one of their own
   */
  readonly register?: MetricsRegister;
}

/** The figures of one server on this node. */
export interface Metrics {
  readonly register: MetricsRegister;
  /** Answers with all metrics of the register. Put it where strangers do not get to. */
  readonly middleware: Middleware;
  /** Stops counting. What was counted stays in the register. */
  stop(): void;
}

/**
 * Counts what an authorization server does, for Prometheus.
 *
 *     const metrics = createMetrics(auth);
 *     router.get('/metrics', metrics.middleware);
 *
 * - `gatehouse_tokens_issued_total{grant_type}`
 * - `gatehouse_tokens_refused_total{grant_type, error}`
 * - `gatehouse_token_request_duration_seconds{grant_type}`: a histogram
 * - `gatehouse_guard_admitted_total{cache}`: `warm`, the token was remembered, or `cold`, it was verified
 * - `gatehouse_guard_refused_total{code}`: the code of the problem, such as `token_missing` or `missing_permission`
 * - `gatehouse_guard_cold_duration_seconds`: a histogram of what a token costs that is not remembered
 * - `gatehouse_logins_total{outcome}`: `succeeded`, `failed`, `throttled`
 * - `gatehouse_revocations_total{target}`: `token`, `grant`, `user`, `client`
 * - `gatehouse_requests_in_progress`: how many requests are let in and have not ended
 * - `gatehouse_signing_key_age_seconds`: how long the key has been signing that signs
 *
 * No label is text that a caller sent; a grant type that the server does not know is `other`.
 *
 * @throws Error by prom-client, when the register has metrics of these names
 */
export function createMetrics(auth: ObservedServer, options: MetricsOptions = {}): Metrics {
  const { register = new Registry() } = options;
  const registers = [register];
  const stops = [
    auth.observe({ answered: countTokens(registers), guarded: countGuard(registers) }),
    auth.events.on('*', countEvents(registers)),
  ];
  showNow(auth, registers);
  return {
    register,
    async middleware(ctx) {
      ctx.type = register.contentType;
      ctx.set('Cache-Control', 'no-store');
      ctx.body = await register.metrics();
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}
