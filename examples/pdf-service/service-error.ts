import type { Context, Next } from 'koa';

/** An error response: `{ "error": { "code", "message" } }`. */
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
  return new ServiceError(413, 'too_large', `A PDF may have at most ${maxBytes} bytes.`);
}

/** Responds with errors as JSON. An unexpected error is a 500, and its details are only printed. */
export async function answerErrors(ctx: Context, next: Next): Promise<void> {
  try {
    await next();
    if (ctx.status === 404) throw new ServiceError(404, 'not_found', 'POST to /extract or /render.');
  } catch (error) {
    // No response if the client closed the connection.
    if (ctx.req.destroyed && !ctx.req.complete) return;
    const reported = error instanceof ServiceError ? error : unexpected(error);
    ctx.status = reported.status;
    ctx.set(reported.headers);
    ctx.body = { error: { code: reported.code, message: reported.message } };
    // Read the rest of the body, so that the connection can be reused.
    ctx.req.resume();
  }
}

function unexpected(error: unknown): ServiceError {
  console.error(error);
  return new ServiceError(500, 'internal_error', 'Internal error of the PDF service.');
}
