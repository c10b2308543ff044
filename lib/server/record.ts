import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createAuditLog } from '../record/audit-log.ts';
import { createObservers } from '../record/observers.ts';
import { logLogins } from '../record/request-log.ts';
import { createTracing } from '../record/tracing.ts';

/** Makes where a server records what happens, besides the log. */
export function createRecord({
  logger,
  retention,
  storage,
}: Pick<ResolvedOptions, 'logger' | 'retention' | 'storage'>) {
  const audit = createAuditLog(storage.audit, { logger, retention: retention.audit });
  logLogins(audit, logger);
  return { audit, observers: createObservers(logger), trace: createTracing() };
}

export type ServerRecord = ReturnType<typeof createRecord>;
