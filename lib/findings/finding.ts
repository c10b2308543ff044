import type { Finding } from '../contracts/index.ts';

/** The problems that a check has found, with their remedies. */
export type Findings = AsyncGenerator<Finding, void>;

/** A problem that stops a server, or that lets others in. */
export function failure(code: string, message: string, remedy: string): Finding {
  return { code, severity: 'error', message, remedy };
}

/** A problem that does no harm yet. */
export function warning(code: string, message: string, remedy: string): Finding {
  return { code, severity: 'warning', message, remedy };
}
