/**
 * Figures for Prometheus. Install `prom-client`.
 *
 * @module koa-gatehouse/metrics
 */
import '#runtime';

import type { Middleware } from 'koa';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { OpenMetricsContentType } from 'prom-client';

import type { AuditLog, AuditRecord, EndpointOutcome, GuardOutcome, Observer } from '../contracts/index.ts';
import { serverPartsOf } from '../http/server-parts.ts';
import type { ServerParts } from '../http/server-parts.ts';

/** A register of prom-client, of either text format. */
export type MetricsRegister = Registry | Registry<OpenMetricsContentType>;

/** The authorization server that `createAuthServer()` made, as far as the metrics ask it by public names. */
export interface ObservedServer {
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
 * @throws ConfigError when `auth` is not a server of `createAuthServer()`
 * @throws Error by prom-client, when the register has metrics of these names
 */
export function createMetrics(auth: ObservedServer, options: MetricsOptions = {}): Metrics {
  const { register = new Registry() } = options;
  const { concurrencyLimit } = serverPartsOf(auth);
  const registers = [register];
  const stops = [
    auth.observe({ answered: countTokens(registers), guarded: countGuard(registers) }),
    auth.events.on('*', countEvents(registers)),
  ];
  showNow({ concurrencyLimit, keys: auth.keys }, registers);
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

const OUTCOMES: Readonly<Partial<Record<AuditRecord['type'], string>>> = {
  login: 'succeeded',
  login_failed: 'failed',
  login_throttled: 'throttled',
};

const TARGETS = ['token', 'grant', 'user', 'client'];

/** Registers the figures of logins and revocations; the function that comes back counts an event. */
function countEvents(registers: MetricsRegister[]): (record: AuditRecord) => void {
  const logins = new Counter({
    name: 'gatehouse_logins_total',
    help: 'Logins.',
    labelNames: ['outcome'],
    registers,
  });
  const revocations = new Counter({
    name: 'gatehouse_revocations_total',
    help: 'Revocations of a token, a grant, or all tokens of a user or a client.',
    labelNames: ['target'],
    registers,
  });
  for (const outcome of Object.values(OUTCOMES)) logins.inc({ outcome }, 0);
  for (const target of TARGETS) revocations.inc({ target }, 0);

  return function count(record) {
    const outcome = OUTCOMES[record.type];
    if (outcome !== undefined) logins.inc({ outcome });
    else if (record.type === 'tokens_revoked') revocations.inc({ target: record.target });
  };
}

/** Registers what can be read off a server at any time. It is read when somebody looks. */
function showNow(
  { concurrencyLimit, keys }: Pick<ServerParts, 'concurrencyLimit'> & Pick<ObservedServer, 'keys'>,
  registers: MetricsRegister[],
): void {
  const inProgress = new Gauge({
    name: 'gatehouse_requests_in_progress',
    help: 'Requests in progress.',
    registers,
    collect() {
      inProgress.set(concurrencyLimit.count);
    },
  });
  const keyAge = new Gauge({
    name: 'gatehouse_signing_key_age_seconds',
    help: 'Time since the active signing key began to sign.',
    registers,
    collect() {
      const active = keys.list().find(({ status }) => status === 'active');
      // The first key of all signs from the beginning of time.
      if (active) keyAge.set(Math.round(Date.now() / 1000) - Math.max(active.createdAt, active.activeAt));
    },
  });
}

/** Registers the figures of the guard; the function that comes back counts a request. */
function countGuard(registers: MetricsRegister[]): (outcome: GuardOutcome) => void {
  const admitted = new Counter({
    name: 'gatehouse_guard_admitted_total',
    help: 'Requests with a valid access token, cached (warm) or verified (cold).',
    labelNames: ['cache'],
    registers,
  });
  const refused = new Counter({
    name: 'gatehouse_guard_refused_total',
    help: 'Requests refused for their access token or for a missing permission.',
    labelNames: ['code'],
    registers,
  });
  const duration = new Histogram({
    name: 'gatehouse_guard_cold_duration_seconds',
    help: 'Time to verify a token that was not cached, and to read its user or client.',
    buckets: SECONDS,
    registers,
  });
  // Looked up once: this runs in each request to the API.
  const warm = admitted.labels('warm');
  const cold = admitted.labels('cold');
  warm.inc(0);
  cold.inc(0);

  return function count(outcome) {
    if (!outcome.admitted) {
      refused.inc({ code: outcome.code });
    } else if (outcome.remembered) {
      warm.inc();
    } else {
      cold.inc();
      duration.observe(outcome.seconds);
    }
  };
}

const GRANT_TYPES = ['authorization_code', 'refresh_token', 'client_credentials'];

/** Registers the figures of the token endpoint; the function that comes back counts a request. */
function countTokens(registers: MetricsRegister[]): (outcome: EndpointOutcome) => void {
  const issued = new Counter({
    name: 'gatehouse_tokens_issued_total',
    help: 'Successful token requests.',
    labelNames: ['grant_type'],
    registers,
  });
  const refused = new Counter({
    name: 'gatehouse_tokens_refused_total',
    help: 'Token requests answered with an error.',
    labelNames: ['grant_type', 'error'],
    registers,
  });
  const duration = new Histogram({
    name: 'gatehouse_token_request_duration_seconds',
    help: 'Duration of token requests.',
    labelNames: ['grant_type'],
    buckets: SECONDS,
    registers,
  });
  // A series that begins at its first event hides that event from `rate()`.
  for (const grantType of GRANT_TYPES) issued.inc({ grant_type: grantType }, 0);

  return function count({ endpoint, error, grantType = 'other', seconds, status }) {
    if (endpoint !== 'token') return;
    const labels = { grant_type: grantType };
    duration.observe(labels, seconds);
    if (status < 400) issued.inc(labels);
    else refused.inc({ ...labels, error: error ?? 'other' });
  };
}

/** Bounds of the histograms, in seconds: a token takes less than a millisecond on an idle server. */
const SECONDS: number[] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
