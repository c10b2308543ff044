import type { Logger } from '../contracts.ts';

/** The same logger, except that what it throws is dropped: a full disk under the log must not stop the service. */
export function steadyLogger(logger: Logger): Logger {
  const at = (level: keyof Logger) =>
    function write(fields: object, message: string): void {
      try {
        logger[level](fields, message);
      } catch {
        // There is nowhere to say it.
      }
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
