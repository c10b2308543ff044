import { Gauge } from 'prom-client';

import type { MetricsRegister, ObservedServer } from './create-metrics.ts';

/** Registers what can be read off a server at any time. It is read when somebody looks. */
export function showNow(
  { admission, keys }: Pick<ObservedServer, 'admission' | 'keys'>,
  registers: MetricsRegister[],
): void {
  const inProgress = new Gauge({
    name: 'gatehouse_requests_in_progress',
    help: 'Requests that are let in and have not ended.',
    registers,
    collect() {
      inProgress.set(admission.count);
    },
  });
  const keyAge = new Gauge({
    name: 'gatehouse_signing_key_age_seconds',
    help: 'How long the key that signs access tokens has been signing.',
    registers,
    collect() {
      const active = keys.list().find(({ status }) => status === 'active');
      // The first key of all signs from the beginning of time.
      if (active) keyAge.set(Math.round(Date.now() / 1000) - Math.max(active.createdAt, active.activeAt));
    },
  });
}
