import { Counter, Histogram } from 'prom-client';

import type { EndpointOutcome } from '../contracts.ts';
import { SECONDS } from './buckets.ts';
import type { MetricsRegister } from './create-metrics.ts';

const GRANT_TYPES = ['authorization_code', 'refresh_token', 'client_credentials'];

/** Registers the figures of the token endpoint; the function that comes back counts a request. */
export function countTokens(registers: MetricsRegister[]): (outcome: EndpointOutcome) => void {
  const issued = new Counter({
    name: 'gatehouse_tokens_issued_total',
    help: 'Token requests that were answered with tokens.',
    labelNames: ['grant_type'],
    registers,
  });
  const refused = new Counter({
    name: 'gatehouse_tokens_refused_total',
    help: 'Token requests that were answered with an error.',
    labelNames: ['grant_type', 'error'],
    registers,
  });
  const duration = new Histogram({
    name: 'gatehouse_token_request_duration_seconds',
    help: 'How long token requests took.',
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
