/**
 * Errors of the API as `application/problem+json` (RFC 9457): one form for every error, whichever part of the server detects
 * it.
 */
import { STATUS_CODES } from 'node:http';

import type { Context } from 'koa';

import type { Logger } from '../contracts/index.ts';
import {
  ActionError,
  AssignmentInvalidError,
  BodyError,
  ClientInvalidError,
  ERRORS,
  GatehouseError,
  PermissionMissingError,
} from '../errors.ts';
import { requestIdOf, sendRequestId } from './request.ts';
import { isUnavailable, logFailure } from './unavailable.ts';

/** A problem (RFC 9457): what went wrong, for a program and for its developer. */
export interface Problem {
  readonly status: number;
  /** Stable and for programs, such as `missing_permission`. */
  readonly code: string;
  /** One or two sentences with the remedy. Sent as `detail` and, for clients that read it, as `message`. */
  readonly detail: string;
  /**
   * A URI that identifies the type of problem (RFC 9457 section 3.1.1). Gatehouse's own problems use the default, because
   * Gatehouse has no domain for documents about them; `code` distinguishes them.
   * @default 'about:blank'
   */
  readonly type?: string;
  /** @default the status's phrase, such as "Forbidden" */
  readonly title?: string;
  /** Further members of the document (RFC 9457 section 3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Header fields of the response, such as `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The header fields of a response that is for its caller alone. */
export const NOT_STORED = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** Answers with a problem. Nothing is thrown, so that the host's error handlers do not change the response. */
export function sendProblem(ctx: Context, problem: Problem): void {
  const { body, headers, status } = responseOf(problem);
  ctx.status = status;
  ctx.set(headers);
  sendRequestId(ctx);
  ctx.body = body;
}

/** A response that the host sends. */
export interface ProblemResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A problem document (RFC 9457), as JSON. */
  readonly body: string;
}

/** The response to a request with a problem. */
export function responseOf(problem: Problem): ProblemResponse {
  return {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json; charset=utf-8',
      ...NOT_STORED,
      ...problem.headers,
    },
    body: JSON.stringify(problemDocument(problem)),
  };
}

/** The document of a problem: a response body by itself, or one item of a bulk response. */
export function problemDocument(problem: Problem): Readonly<Record<string, unknown>> {
  const { type = 'about:blank', status, title = phraseOf(status), detail, code, members } = problem;
  return { type, title, status, detail, code, message: detail, ...members };
}

/**
 * Turns what later middleware throws into problems.
 *
 * - A `GatehouseError` below 500 keeps its status and message.
 * - An error of `ctx.throw()` keeps its status, and its message when `expose` is true (the default below 500).
 *   `ctx.throw(409, 'This name is taken.', { code: 'name_taken' })` sets the problem's code too.
 * - A lost connection, also of a database of the host, is a 503.
 * - Anything else is a 500. Its message is only logged, with the request's id, which the response contains as `reference`.
 */
export function problems(options: {
  readonly logger: Logger;
}): (ctx: Context, next: () => unknown) => Promise<void> {
  const { logger } = options;
  return async function answerWithProblems(ctx, next) {
    sendRequestId(ctx);
    try {
      await next();
    } catch (error) {
      // The caller closed the connection while it sent its body, so there is no response to send and no error to log.
      if (error instanceof BodyError && !ctx.writable) return;
      if (ctx.respond === false || ctx.headerSent || !ctx.writable) throw error;
      sendError(ctx, error, logger);
    }
  };
}

/** Answers with the problem for an error, and logs a fault of the server. */
export function sendError(ctx: Context, error: unknown, logger: Logger): void {
  // A handler may have set these for the response that it did not complete (RFC 9110 section 8).
  for (const name of REPRESENTATION_FIELDS) ctx.remove(name);
  // The path without the query, which may contain a credential.
  const { method, path } = ctx;
  sendProblem(ctx, explainError(error, logger, { request_id: requestIdOf(ctx), method, path }));
}

/** The fields of a log line about a failed request, in addition to the error. */
export interface FailureFields {
  readonly request_id: string;
  readonly [name: string]: string | number;
}

/** The problem for an error. A fault of the server is logged, with `fields`. */
export function explainError(error: unknown, logger: Logger, fields: FailureFields): Problem {
  const problem = problemOf(error);
  // The 503 of a `BodyError` means that the memory for bodies is used up: the server is busy, which is no fault.
  if (problem.status < 500 || error instanceof BodyError) return problem;
  logFailure(logger, { ...fields, err: error }, 'api request failed');
  return { ...problem, members: { ...problem.members, reference: fields.request_id } };
}

const REPRESENTATION_FIELDS = [
  'Content-Disposition',
  'Content-Encoding',
  'Content-Language',
  'Content-Location',
  'Content-Range',
  'ETag',
  'Last-Modified',
];

const INTERNAL: Problem = {
  status: 500,
  code: 'internal_error',
  detail: 'Something went wrong on the server. Give the reference when you report it.',
};

const UNAVAILABLE: Problem = {
  status: 503,
  code: 'temporarily_unavailable',
  detail: 'The server cannot answer right now. Try again in a few seconds.',
  headers: { 'Retry-After': '5' },
};

function problemOf(error: unknown): Problem {
  if (error instanceof GatehouseError) return problemOfGatehouseError(error);
  if (isHttpError(error)) return problemOfHttpError(error);
  // Most body parsers for Koa rethrow the error of JSON.parse with a status: the caller's fault, not the server's.
  if (error instanceof SyntaxError && 'status' in error && error.status === 400) {
    return { status: 400, code: 'body_invalid', detail: 'The body is not valid JSON.' };
  }
  return isUnavailable(error) ? UNAVAILABLE : INTERNAL;
}

function problemOfGatehouseError(error: GatehouseError): Problem {
  if (error instanceof ActionError)
    return { status: error.status, code: error.problemCode, detail: error.message };
  if (error instanceof BodyError && error.status === 503)
    return { ...UNAVAILABLE, detail: error.message, headers: {} };
  if (error instanceof PermissionMissingError && error.insufficientScope) return missingScope(error);
  const code = ERRORS[error.code].problem;
  if (code === UNAVAILABLE.code) return UNAVAILABLE;
  if (error.status >= 500 || code === INTERNAL.code) return INTERNAL;
  return {
    status: error.status,
    code,
    detail: error.message,
    members: membersOf(error),
  };
}

function membersOf(error: GatehouseError): NonNullable<Problem['members']> {
  if (error instanceof ClientInvalidError || error instanceof AssignmentInvalidError)
    return { errors: error.fields };
  if (error instanceof PermissionMissingError) return { permission: error.permission };
  return {};
}

/** The description in a challenge when another token of the same user or client would suffice. */
export const INSUFFICIENT_SCOPE = 'The scopes of the access token exclude a required permission.';

/** The problem of a token whose scopes exclude a permission that its user or client has (RFC 6750 section 3.1). */
export function missingScope({
  // The host's own error has no challenge. A realm is optional (RFC 6750 section 3).
  challenge = `Bearer error="insufficient_scope", error_description="${INSUFFICIENT_SCOPE}"`,
  permission,
  scopes = [],
}: {
  readonly permission: string;
  readonly challenge?: string | undefined;
  /** Those of a token that would suffice. Empty: one without scopes would. @default [] */
  readonly scopes?: readonly string[] | undefined;
}): Problem {
  const needed = scopes.length === 1 ? `the scope ${scopes[0]}` : `the scopes ${scopes.join(', ')}`;
  return {
    status: 403,
    code: 'insufficient_scope',
    detail: scopes.length === 0 ? INSUFFICIENT_SCOPE : `The access token needs ${needed}.`,
    members: { permission, ...(scopes.length > 0 && { scopes }) },
    headers: { 'WWW-Authenticate': challenge },
  };
}

/** The errors of `ctx.throw()` and `ctx.assert()`. `expose` distinguishes them from other errors that have a status. */
interface HttpError extends Error {
  readonly status: number;
  readonly expose: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly code?: unknown;
}

function isHttpError(error: unknown): error is HttpError {
  if (!(error instanceof Error) || !('expose' in error) || !('status' in error)) return false;
  const { expose, status } = error;
  return (
    typeof expose === 'boolean' && Number.isInteger(status) && Number(status) >= 400 && Number(status) < 600
  );
}

function problemOfHttpError(error: HttpError): Problem {
  const { status, expose, code, headers = {} } = error;
  if (!expose && status === 500) return INTERNAL;
  if (!expose && status === 503) return { ...UNAVAILABLE, headers: { ...UNAVAILABLE.headers, ...headers } };
  const ownCode = expose && typeof code === 'string' && /^[a-z]+(_[a-z0-9]+)*$/.test(code) ? code : undefined;
  return {
    status,
    code:
      ownCode ??
      phraseOf(status)
        .toLowerCase()
        .replaceAll(/[^a-z]+/g, '_'),
    detail: expose ? error.message : `${phraseOf(status)}.`,
    headers,
  };
}

function phraseOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}
