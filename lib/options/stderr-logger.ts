import { inspect } from 'node:util';

import type { Logger } from '../contracts/index.ts';

/**
 * The logger of a server without the option `logger`: warnings and errors on stderr, each as one line with time, level, message and
 * fields. The stack of an error follows, indented, unless the error is answered with a 4xx. Outside of production it also logs refused
 * requests, because developers who set up an app look for the reason.
 */
export const stderrLogger: Logger = Object.freeze({
  debug() {},
  info(fields: object, message: string) {
    if (process.env['NODE_ENV'] !== 'production' && isRefusal(fields))
      console.error(entry('INFO', fields, message));
  },
  warn(fields: object, message: string) {
    console.warn(entry('WARN', fields, message));
  },
  error(fields: object, message: string) {
    console.error(entry('ERROR', fields, message));
  },
});

function isRefusal({ outcome }: { readonly outcome?: unknown }): boolean {
  return outcome === 'refused';
}

function entry(level: string, { err, ...fields }: { readonly err?: unknown }, message: string): string {
  const isShort = isCallersMistake(err);
  const values = isShort ? { ...fields, err: err.message } : fields;
  const words = Object.entries(values).map(([name, value]) => `${name}=${shown(value)}`);
  const line = [new Date().toISOString(), level, message, ...words].join(' ');
  if (err === undefined || isShort) return line;
  // Indented, so that text after a line break in an error's message does not look like another entry.
  return `${line}\n${inspect(err)}`.replaceAll(/\r\n|[\n\r\u2028\u2029]/g, '\n  ');
}

function isCallersMistake(error: unknown): error is Error {
  if (!(error instanceof Error) || !('status' in error)) return false;
  return typeof error.status === 'number' && error.status >= 400 && error.status < 500;
}

/** A value on one line: unchanged when it is a plain word, else as JSON. */
function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value)) return value;
  if (typeof value === 'object' && value !== null)
    return inspect(value, { breakLength: Infinity, compact: true });
  return JSON.stringify(value) ?? String(value);
}
