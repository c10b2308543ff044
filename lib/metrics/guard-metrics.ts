import { Counter, Histogram } from 'prom-client';

import type { GuardOutcome } from '../contracts.ts';
import { SECONDS } from './buckets.ts';
import type { MetricsRegister } from './create-metrics.ts';

/** Registers the figures of the guard; the function that comes back counts a request. */
export function countGuard(registers: MetricsRegister[]): (outcome: GuardOutcome) => void {
  const admitted = new Counter({
    name: 'gatehouse_guard_admitted_total',
    help: 'Requests that came with a good access token, remembered (warm) or verified (cold).',
    labelNames: ['cache'],
    registers,
  });
  const refused = new Counter({
    name: 'gatehouse_guard_refused_total',
    help: 'Requests that were refused for their access token or for a missing permission.',
    labelNames: ['code'],
    registers,
  });
  const duration = new Histogram({
    name: 'gatehouse_guard_cold_duration_seconds',
    help: 'How long it took to verify a token that was not remembered, and to read its holder.',
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
