/**
 * Metrics for Prometheus. Install `prom-client`.
 *
 * @module koa-gatehouse/metrics
 */
import '#runtime';

import type { Middleware } from 'koa';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { OpenMetricsContentType } from 'prom-client';

import type {
  AuditLog,
  AuditRecord,
  EndpointOutcome,
  GuardOutcome,
  Observer,
  Seconds,
} from '../contracts/index.ts';
import type { EventRule } from './event-rules.ts';
import { partsOf } from '../contracts/server-parts.ts';
import type { ServerParts } from '../contracts/server-parts.ts';
import { beginStackAt, ConfigError } from '../errors.ts';
import { optional, readOptions } from '../options/declare.ts';
import type { Check, Given } from '../options/declare.ts';
import { signingKeyAge } from './signing-key-age.ts';

/** A registry of prom-client, of either text format. */
type MetricsRegister = Registry | Registry<OpenMetricsContentType>;

/** The members of a server of `createAuthServer()` that the metrics read. */
interface ObservedServer {
  readonly events: Pick<AuditLog, 'on'>;
  readonly signingKeys: {
    /** The signing keys, with their times. */
    list(): readonly { readonly status: string; readonly createdAt: Seconds; readonly activeAt: Seconds }[];
  };
  /** Adds an observer of the requests to the endpoints and the guard. The returned function removes it. */
  observe(this: void, observer: Observer): () => void;
  /** @internal What the API, the tools for agents and the metrics are made on. */
  readonly parts: ServerParts;
}

const registry: Check<MetricsRegister> = (place, given) => {
  if (typeof given?.registerMetric === 'function') return given;
  throw new ConfigError(place, 'pass a Registry of prom-client, or leave it out');
};

const METRICS = {
  /**
   * The registry for the metrics. Pass prom-client's own `register` to have them next to the metrics of the process. Two servers need
   * different registries.
   * @default a new registry
   */
  register: optional(registry),
};

/** The options of `createMetrics()`. */
interface MetricsOptions extends Given<typeof METRICS> {}

/** The metrics of one server on this node. */
export interface Metrics {
  readonly register: MetricsRegister;
  /**
   * Returns the middleware that responds with all metrics of the registry. It asks for no authentication: mount it where only your
   * monitoring can reach it.
   */
  middleware(): Middleware;
  /** Stops counting. The values so far stay in the registry. */
  stop(): void;
}

/**
 * Creates Prometheus metrics of an authorization server.
 *
 *     const metrics = createMetrics(auth);
 *     router.get('/metrics', metrics.middleware());
 *
 * - `gatehouse_tokens_issued_total{grant_type}`
 * - `gatehouse_tokens_refused_total{grant_type, error}`
 * - `gatehouse_token_request_duration_seconds{grant_type}`: a histogram
 * - `gatehouse_guard_admitted_total{cache, credential}`: `warm`, the token was in the cache, or `cold`, it was verified; `access_token`,
 *   `personal_token` or `session`
 * - `gatehouse_guard_refused_total{code}`: the code of the problem, such as `token_missing`, `missing_permission` or `too_many_requests`
 * - `gatehouse_guard_cold_duration_seconds`: a histogram of the verification of tokens that are not in the cache
 * - `gatehouse_logins_total{outcome}`: `succeeded`, `failed`, `throttled`
 * - `gatehouse_revocations_total{target}`: `token`, `grant`, `user`, `client`
 * - `gatehouse_personal_tokens_created_total`
 * - `gatehouse_personal_tokens_revoked_total{actor}`: `user`, on the page; `holder`, who presented the token at the revocation endpoint; `host`,
 *   in its code. Those that end with their user are one revocation of a `user`
 * - `gatehouse_requests_in_progress`: the number of running requests
 * - `gatehouse_signing_key_age_seconds`: for how long the active signing key has been signing
 *
 * No label is text from a request; a grant type that the server does not know is `other`.
 *
 * @throws ConfigError when `auth` is not a server of `createAuthServer()`, or an option is wrong
 * @throws Error of prom-client, when the registry has metrics of these names
 */
export function createMetrics(auth: ObservedServer, options: MetricsOptions = {}): Metrics {
  const { register = new Registry() } = readOptions(METRICS, options, 'createMetrics()');
  const { clientKinds, concurrencyLimit, endpoints, eventRules } = partsOf(auth);
  const create = creatorIn([register]);
  const countToken = tokenCounter(
    create,
    new Set(['refresh_token', ...[...clientKinds.on.values()].flatMap(({ grantTypes }) => grantTypes)]),
  );
  const countOther = endpointCounter(create, endpoints);
  const stopObserving = auth.observe({
    answered(outcome) {
      if (outcome.endpoint === 'token') countToken(outcome);
      else countOther(outcome);
    },
    guarded: guardCounter(create),
  });
  const stopListening = auth.events.on('*', eventCounter(create, Object.entries(eventRules)));
  create.gauge('gatehouse_requests_in_progress', 'Requests in progress.', () => concurrencyLimit.count);
  create.gauge('gatehouse_signing_key_age_seconds', 'Time since the active signing key began to sign.', () =>
    signingKeyAge(auth.signingKeys),
  );
  return {
    register,
    middleware: () => async (ctx) => {
      ctx.type = register.contentType;
      ctx.set('Cache-Control', 'no-store');
      ctx.body = await register.metrics();
    },
    stop() {
      stopObserving();
      stopListening();
    },
  };
}
beginStackAt(createMetrics);

type Creator = ReturnType<typeof creatorIn>;

/** Creates metrics in a registry. */
function creatorIn(registers: MetricsRegister[]) {
  return {
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Histogram({ name, help, labelNames, buckets: SECONDS, registers }),
    /** @param read - returns the value when the metrics are requested, or `undefined` to leave the last value */
    gauge(name: string, help: string, read: () => number | undefined): void {
      const gauge = new Gauge({
        name,
        help,
        registers,
        collect() {
          const value = read();
          if (value !== undefined) gauge.set(value);
        },
      });
    },
  };
}

/** Bounds of the histograms: a token takes less than a millisecond on an idle server. */
const SECONDS: number[] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const OUTCOMES: Readonly<Partial<Record<AuditRecord['type'], string>>> = {
  login: 'succeeded',
  login_failed: 'failed',
  login_throttled: 'throttled',
};

const TARGETS = ['token', 'grant', 'user', 'client'];

/** The metrics of logins and revocations. */
function eventCounter(
  { counter }: Creator,
  rules: readonly (readonly [string, EventRule])[],
): (record: AuditRecord) => void {
  const logins = counter('gatehouse_logins_total', 'Logins.', 'outcome');
  const revocations = counter(
    'gatehouse_revocations_total',
    'Revocations of a token, a grant, or all tokens of a user or a client.',
    'target',
  );
  const counters = new Map(
    rules.flatMap(([type, { counter: given }]) => {
      if (!given) return [];
      const { help, label, name } = given;
      const one = label ? counter(name, help, label.name) : counter(name, help);
      if (label) for (const value of label.values) one.inc({ [label.name]: value }, 0);
      return [
        [type, (record: AuditRecord) => one.inc(label ? { [label.name]: label.of(record) } : {})] as const,
      ];
    }),
  );
  for (const outcome of Object.values(OUTCOMES)) logins.inc({ outcome }, 0);
  for (const target of TARGETS) revocations.inc({ target }, 0);

  return function count(record) {
    const outcome = OUTCOMES[record.type];
    if (outcome !== undefined) logins.inc({ outcome });
    else if (record.type === 'tokens_revoked') revocations.inc({ target: record.target });
    else counters.get(record.type)?.(record);
  };
}

function guardCounter({ counter, histogram }: Creator): (outcome: GuardOutcome) => void {
  const admitted = counter(
    'gatehouse_guard_admitted_total',
    'Requests with a valid token, cached (warm) or verified (cold), or with a login session.',
    'cache',
    'credential',
  );
  const refused = counter(
    'gatehouse_guard_refused_total',
    'Requests refused for their access token, a missing permission or a limit.',
    'code',
  );
  const duration = histogram(
    'gatehouse_guard_cold_duration_seconds',
    'Time to verify a token that was not cached, and to read its user or client.',
  );
  // Looked up once, because the counters are incremented in every request to the API.
  const warm = seriesOf('warm');
  const cold = seriesOf('cold');

  function seriesOf(cache: 'cold' | 'warm'): (credential: string) => Counter.Internal {
    const series = new Map<string, Counter.Internal>();
    const of = (credential: string): Counter.Internal => {
      const known = series.get(credential) ?? admitted.labels(cache, credential);
      series.set(credential, known);
      return known;
    };
    for (const credential of ['access_token', 'session']) of(credential).inc(0);
    return of;
  }

  return function count(outcome) {
    if (!outcome.admitted) {
      refused.inc({ code: outcome.code });
    } else if (outcome.remembered) {
      warm(outcome.credential).inc();
    } else {
      cold(outcome.credential).inc();
      duration.observe(outcome.seconds);
    }
  };
}

function tokenCounter(
  { counter, histogram }: Creator,
  grantTypes: ReadonlySet<string>,
): (outcome: EndpointOutcome) => void {
  const issued = counter('gatehouse_tokens_issued_total', 'Successful token requests.', 'grant_type');
  const refused = counter(
    'gatehouse_tokens_refused_total',
    'Token requests answered with an error.',
    'grant_type',
    'error',
  );
  const duration = histogram(
    'gatehouse_token_request_duration_seconds',
    'Duration of token requests.',
    'grant_type',
  );
  // Each series starts at 0, because `rate()` does not count the first value of a series as an increase.
  for (const grantType of grantTypes) issued.inc({ grant_type: grantType }, 0);

  return function count({ error, grantType = 'other', seconds, status }) {
    const labels = { grant_type: grantType };
    duration.observe(labels, seconds);
    if (status < 400) issued.inc(labels);
    else refused.inc({ ...labels, error: error ?? 'other' });
  };
}

function endpointCounter(
  { counter }: Creator,
  endpoints: ServerParts['endpoints'],
): (outcome: EndpointOutcome) => void {
  const counters = new Map(
    endpoints.flatMap(({ counter: counted, name }) =>
      counted ? [[name, counter(counted.name, counted.help, 'error')] as const] : [],
    ),
  );
  return ({ endpoint, error = 'none' }) => counters.get(endpoint)?.inc({ error });
}
