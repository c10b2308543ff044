import { createMetrics } from 'koa-gatehouse/metrics';
import type { Metrics } from 'koa-gatehouse/metrics';

import { until } from './until.ts';

type ObservedServer = Parameters<typeof createMetrics>[0];

const metricsOf = new WeakMap<ObservedServer, Metrics>();

/** The number of requests that a server is working on, from its metrics. */
export async function requestsInProgress(auth: ObservedServer): Promise<number> {
  const metrics = metricsOf.get(auth) ?? createMetrics(auth);
  metricsOf.set(auth, metrics);
  const gauge = await metrics.register.getSingleMetric('gatehouse_requests_in_progress')!.get();
  return gauge.values[0]!.value;
}

/** Waits until a server works on no more requests than these. */
export async function untilIdle({ auth }: { readonly auth: ObservedServer }, most = 0): Promise<void> {
  await until(async () => (await requestsInProgress(auth)) <= most);
}
