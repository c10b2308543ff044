import type { FieldError } from 'koa-gatehouse';

/** The command was called with wrong or missing arguments. The message says how to call it. */
export class UsageError extends Error {
  readonly code: string = 'ERR_USAGE';
}

/** The user did not confirm the question of a command. */
export class DeclinedError extends Error {
  readonly code: string = 'ERR_DECLINED';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('Nothing was changed.');
    this.exitCode = exitCode;
  }
}

/** The members of errors of the package. These identify the errors, because loading their class would slow down `--help`. */
interface ExpectedError {
  readonly code: string;
  readonly message: string;
  readonly fields?: readonly FieldError[];
}

const REMEDIES: Readonly<Record<string, string>> = {
  ERR_CLIENT_NOT_FOUND: '`gatehouse client list` lists the clients.',
};

// A value of an argument, or of an environment variable, was refused before anything was changed.
const WRONG_ARGUMENTS: ReadonlySet<string> = new Set(['ERR_USAGE', 'ERR_CONFIG', 'ERR_CLIENT_INVALID']);

/** Writes an error to stderr. Returns the exit code. */
export function reportFailure(error: unknown, { json }: { json: boolean }): number {
  const text = json ? asJson(error) : asText(error);
  process.stderr.write(`${redact(text)}\n`);
  if (error instanceof DeclinedError) return error.exitCode;
  return isExpected(error) && WRONG_ARGUMENTS.has(error.code) ? 2 : 1;
}

function asJson(error: unknown): string {
  const { code, fields, message } = isExpected(error) ? error : unexpected(error);
  return JSON.stringify({ error: { code, message, ...(fields ? { fields } : {}) } }, undefined, 2);
}

function asText(error: unknown): string {
  const { code, fields, message } = isExpected(error) ? error : unexpected(error);
  const lines = fields ? fields.map((one) => `${one.field}: ${one.message}`) : [sentence(message)];
  const remedy = REMEDIES[code];
  return [...lines, ...(remedy === undefined ? [] : [remedy])].join('\n');
}

function isExpected(error: unknown): error is ExpectedError {
  if (error instanceof UsageError || error instanceof DeclinedError) return true;
  return error instanceof Error && 'status' in error && 'code' in error && typeof error.code === 'string';
}

function unexpected(error: unknown): ExpectedError {
  const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'ERR_UNEXPECTED', message: `This is a bug in gatehouse, please report it: ${details}` };
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

/**
 * Replaces passwords in the URLs of a text, which may come from the error of a driver, a mistyped argument or a stack trace.
 */
export function redact(text: string): string {
  return (
    text
      // Replaces up to the last @ of the word, because a password may contain an @ and any other character.
      .replaceAll(/(:\/\/[^\s:/@]*):\S*@/g, '$1:***@')
      .replaceAll(/([?&][a-z_-]*(?:password|passwd|secret|token)=)[^\s&#]*/gi, '$1***')
  );
}
