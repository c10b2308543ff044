import type { Finding } from '../contracts.ts';
import type { CheckSubject } from './check.ts';

/** Whether the tables are those of this version. */
export async function checkMigrations({ storage }: CheckSubject): Promise<readonly Finding[]> {
  const pending = await storage.pendingMigrations();
  return pending.map((name) => ({
    code: 'migration_pending',
    severity: 'error',
    message: `The migration ${name} has not run.`,
    remedy: 'Run `gatehouse migrate` or `await storage.migrate()`.',
  }));
}
