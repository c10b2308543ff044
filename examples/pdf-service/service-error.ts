import type { Context, Next } from 'koa';

/** Something that the service tells its caller: `{ "error": { "code", "message" } }`. */
export class ServiceError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(413, 'too_large', `A PDF may have ${maxBytes} bytes at most.`);
}

/** Answers with errors as JSON. What was not foreseen is a 500, and only the terminal learns more. */
export async function answerErrors(ctx: Context, next: Next): Promise<void> {
  try {
    await next();
    if (ctx.status === 404) throw new ServiceError(404, 'not_found', 'POST to /extract or /render.');
  } catch (error) {
    // Whoever went away needs no answer.
    if (ctx.req.destroyed && !ctx.req.complete) return;
    const told = error instanceof ServiceError ? error : unforeseen(error);
    ctx.status = told.status;
    ctx.set(told.headers);
    ctx.body = { error: { code: told.code, message: told.message } };
    // The rest of a body that nobody reads would hold the connection.
    ctx.req.resume();
  }
}

function unforeseen(error: unknown): ServiceError {
  console.error(error);
  return new ServiceError(500, 'internal_error', 'Something went wrong in the PDF service.');
}
