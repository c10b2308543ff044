import type { FieldError } from 'koa-gatehouse';

/** Called in a way that cannot be meant. The message says what to do. */
export class UsageError extends Error {
  readonly code: string = 'ERR_USAGE';
}

/** Somebody was asked, and said no. */
export class DeclinedError extends Error {
  readonly code: string = 'ERR_DECLINED';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('Nothing was changed.');
    this.exitCode = exitCode;
  }
}

/** What errors of the package have. They are not told by their class, so that nothing of it is loaded for `--help`. */
interface Expected {
  readonly code: string;
  readonly message: string;
  readonly fields?: readonly FieldError[];
}

const REMEDIES: Readonly<Record<string, string>> = {
  ERR_CLIENT_NOT_FOUND: '`gatehouse client list` lists the clients.',
};

/** Says on stderr what went wrong. Returns the exit code. */
export function reportFailure(error: unknown, { json }: { json: boolean }): number {
  const text = json ? asJson(error) : asText(error);
  process.stderr.write(`${redact(text)}\n`);
  if (error instanceof DeclinedError) return error.exitCode;
  return error instanceof UsageError ? 2 : 1;
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

function isExpected(error: unknown): error is Expected {
  if (error instanceof UsageError || error instanceof DeclinedError) return true;
  return error instanceof Error && 'status' in error && 'code' in error && typeof error.code === 'string';
}

function unexpected(error: unknown): Expected {
  const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'ERR_UNEXPECTED', message: `This is a bug in gatehouse, please report it: ${told}` };
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

/** Takes passwords out of addresses in a text, whatever has put them there: a driver, a mistyped word, a stack. */
export function redact(text: string): string {
  return (
    text
      // Up to the last @ of the word: a password may hold any other sign.
      .replaceAll(/(:\/\/[^\s:/@]*):\S*@/g, '$1:***@')
      .replaceAll(/([?&][a-z_-]*(?:password|passwd|secret|token)=)[^\s&#]*/gi, '$1***')
  );
}
