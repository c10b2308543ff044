import type { AuditEventType, AuditLog, AuditRecord, Logger } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';

type Listener = (record: AuditRecord) => unknown;

/** Who is told about events as they happen. */
export interface Listeners {
  readonly on: AuditLog['on'];
  /** Tells everybody whom it concerns. Never throws. */
  tell(record: AuditRecord): void;
}

export function createListeners(logger: Logger): Listeners {
  const listeners = new Map<string, Set<{ readonly listener: Listener }>>();

  function call(listener: Listener, record: AuditRecord): void {
    const failed = (error: unknown): void =>
      logger.error({ err: error, type: record.type }, 'audit event listener failed');
    try {
      // One that is asynchronous by mistake would end the process when it fails.
      Promise.resolve(listener(record)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  function on(type: AuditEventType | '*', listener: Listener): () => void {
    checkListener(type, listener);
    // An object of its own, so that a listener that was given twice is called twice and taken back once.
    const entry = { listener };
    const entries = listeners.get(type) ?? new Set();
    listeners.set(type, entries.add(entry));
    return () => void entries.delete(entry);
  }

  return {
    on,
    tell(record) {
      for (const type of [record.type, '*']) {
        for (const { listener } of listeners.get(type) ?? []) call(listener, record);
      }
    },
  };
}

// A misspelt type would never be heard of.
function checkListener(type: string, listener: unknown): void {
  if (type !== '*' && !Object.hasOwn(TYPES, type)) {
    throw new ConfigError(
      'events.on()',
      `there is no event "${type}"; the events are ${Object.keys(TYPES).join(', ')}, and * for all`,
    );
  }
  if (typeof listener !== 'function') throw new ConfigError('events.on()', 'pass a function to call');
}

const TYPES: Readonly<Record<AuditEventType, true>> = {
  token_issued: true,
  token_refused: true,
  authorization_refused: true,
  login: true,
  login_failed: true,
  login_throttled: true,
  logout: true,
  consent_given: true,
  consent_denied: true,
  consent_withdrawn: true,
  client_created: true,
  client_updated: true,
  client_disabled: true,
  client_enabled: true,
  client_deleted: true,
  secret_added: true,
  secret_removed: true,
  tokens_revoked: true,
  assignment_changed: true,
  key_rotated: true,
};
