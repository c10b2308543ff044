import { Counter } from 'prom-client';

import type { AuditRecord } from '../contracts.ts';
import type { MetricsRegister } from './create-metrics.ts';

const OUTCOMES: Readonly<Partial<Record<AuditRecord['type'], string>>> = {
  login: 'succeeded',
  login_failed: 'failed',
  login_throttled: 'throttled',
};

const TARGETS = ['token', 'grant', 'user', 'client'];

/** Registers the figures of logins and revocations; the function that comes back counts an event. */
export function countEvents(registers: MetricsRegister[]): (record: AuditRecord) => void {
  const logins = new Counter({
    name: 'gatehouse_logins_total',
    help: 'Logins of people.',
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
