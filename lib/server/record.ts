import type { AuditLog, Trace } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createAuditLog } from '../record/audit-log.ts';
import { createObservers } from '../record/observers.ts';
import { logLogins } from '../record/request-log.ts';
import { createTracing } from '../record/tracing.ts';

/** Where a server records what happens, besides the log. */
export interface ServerRecord {
  readonly audit: AuditLog;
  readonly observers: ReturnType<typeof createObservers>;
  readonly trace: Trace;
}

export function createRecord({
  logger,
  retention,
  storage,
}: Pick<ResolvedOptions, 'logger' | 'retention' | 'storage'>): ServerRecord {
  const audit = createAuditLog(storage.audit, { logger, retention: retention.audit });
  logLogins(audit, logger);
  return { audit, observers: createObservers(logger), trace: createTracing() };
}
