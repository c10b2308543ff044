import type { ResolvedOptions } from '../options/resolved-options.ts';
import { featuresOf, storedEventRulesOf } from '../features/known.ts';
import { createAuditLog } from '../record/audit-log.ts';
import { createObservers } from '../record/observers.ts';
import { logLogins } from '../record/request-log.ts';
import { createTracing } from '../record/tracing.ts';

/** Makes where a server records what happens, besides the log. */
export function createRecord({
  features,
  logger,
  retention,
  storage,
}: Pick<ResolvedOptions, 'features' | 'logger' | 'retention' | 'storage'>) {
  const rules = storedEventRulesOf(featuresOf({ features }));
  const audit = createAuditLog(storage.audit, { logger, retention: retention.audit, rules });
  logLogins(audit, logger);
  return { audit, observers: createObservers(logger), trace: createTracing() };
}

export type ServerRecord = ReturnType<typeof createRecord>;
