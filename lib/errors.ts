import type { Seconds } from './contracts/duration.ts';
import type { FieldError } from './contracts/field-errors.ts';

/** By code, the HTTP status of a response with the error, unless the error says another, and the code of its problem. */
export const ERRORS = {
  ERR_CONFIG: { status: 500, problem: 'internal_error' },
  ERR_STORAGE: { status: 503, problem: 'temporarily_unavailable' },
  ERR_MIGRATIONS_PENDING: { status: 503, problem: 'temporarily_unavailable' },
  ERR_CLIENT_INVALID: { status: 422, problem: 'client_invalid' },
  ERR_CLIENT_CHANGED: { status: 409, problem: 'client_changed' },
  ERR_CLIENT_SOURCE: { status: 400, problem: 'client_source' },
  ERR_CLIENT_NOT_FOUND: { status: 404, problem: 'client_not_found' },
  ERR_ASSIGNMENT_INVALID: { status: 422, problem: 'assignment_invalid' },
  ERR_PERSONAL_TOKEN_INVALID: { status: 422, problem: 'personal_token_invalid' },
  ERR_ERASURE_INCOMPLETE: { status: 409, problem: 'erasure_incomplete' },
  ERR_PERMISSION_MISSING: { status: 403, problem: 'missing_permission' },
  ERR_LOGIN_REQUIRED: { status: 403, problem: 'login_required' },
  ERR_LOGIN_REFUSED: { status: 403, problem: 'login_refused' },
  ERR_INTERACTION_EXPIRED: { status: 400, problem: 'interaction_expired' },
  ERR_CONSENT_INVALID: { status: 422, problem: 'consent_invalid' },
  ERR_URL_TOO_LONG: { status: 414, problem: 'url_too_long' },
  ERR_LOGOUT_REQUEST: { status: 400, problem: 'logout_request_invalid' },
  ERR_TOO_MANY_ATTEMPTS: { status: 429, problem: 'too_many_attempts' },
  ERR_BODY: { status: 400, problem: 'body_invalid' },
  ERR_ACTION: { status: 400, problem: 'action_refused' },
  ERR_IDEMPOTENCY_KEY: { status: 400, problem: 'idempotency_key_invalid' },
  ERR_CROSS_SITE: { status: 403, problem: 'cross_site' },
  ERR_PDF_INPUT: { status: 400, problem: 'pdf_invalid' },
  ERR_PDF_UNREADABLE: { status: 500, problem: 'internal_error' },
  ERR_PDF_HTTP: { status: 502, problem: 'internal_error' },
  ERR_PDF_CONNECTION: { status: 502, problem: 'temporarily_unavailable' },
  ERR_PDF_TIMEOUT: { status: 504, problem: 'temporarily_unavailable' },
  ERR_PDF_RESPONSE: { status: 502, problem: 'internal_error' },
  ERR_HTML_TO_PDF_INPUT: { status: 400, problem: 'html_invalid' },
  ERR_HTML_TO_PDF_MISSING: { status: 422, problem: 'html_invalid' },
  ERR_HTML_TO_PDF_FULL: { status: 503, problem: 'temporarily_unavailable' },
  ERR_HTML_TO_PDF_CLOSED: { status: 503, problem: 'temporarily_unavailable' },
  ERR_HTML_TO_PDF_TIMEOUT: { status: 504, problem: 'temporarily_unavailable' },
  ERR_HTML_TO_PDF_MEMORY: { status: 500, problem: 'internal_error' },
  ERR_HTML_TO_PDF_CRASHED: { status: 500, problem: 'internal_error' },
  ERR_HTML_TO_PDF_BROWSER: { status: 500, problem: 'internal_error' },
} as const;

/**
 * Every code that a {@link GatehouseError} can carry. Codes are stable: match on them, not on messages.
 *
 * @useDeclaredType
 */
export type GatehouseErrorCode = keyof typeof ERRORS;

// The same in each copy of the package that a program has loaded.
const BRAND = Symbol.for('koa-gatehouse.error');

/**
 * The base class of the errors of this package. No message contains a credential.
 *
 * `instanceof` is true for those of another copy of the package too, such as of a plugin that has its own.
 */
export class GatehouseError extends Error {
  /** Whether a value is such an error, of this copy of the package or of another. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    return (
      typeof value === 'object' && value !== null && BRAND in value && classesOf(value).includes(this.name)
    );
  }

  /** Stable: match on it, not on the message. */
  readonly code: GatehouseErrorCode;
  /** The HTTP status of a response with this error. */
  readonly status: number;
  /** With `ERR_TOO_MANY_ATTEMPTS`, for the header `Retry-After`: in seconds, at least 1. */
  declare readonly retryAfter?: Seconds | undefined;

  constructor(code: GatehouseErrorCode, message: string, options?: ErrorOptions & { status?: number }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.status = options?.status ?? ERRORS[code].status;
  }
}

Object.defineProperty(GatehouseError.prototype, BRAND, { value: true });

/** The names of the classes of an object. */
function classesOf(value: object): readonly string[] {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null ? [] : [prototype.constructor.name, ...classesOf(prototype)];
}

type PublicFunction = (...given: never[]) => unknown;

const publicFunctions = new Set<PublicFunction>();

/**
 * Has the stack of a `ConfigError` begin with the line of the program that has called this public function. Node shows that line, and the
 * message below it, when the error is not caught.
 */
export function beginStackAt(called: PublicFunction): void {
  publicFunctions.add(called);
}

/** An invalid option, found at start, or an invalid argument. The message names it and says what to do. */
export class ConfigError extends GatehouseError {
  /** The invalid option or call, such as `issuer`, `scopes.schools:read` or `revoke()`. */
  readonly option: string;

  constructor(option: string, remedy: string, options?: ErrorOptions) {
    super('ERR_CONFIG', `${option}: ${remedy}`, options);
    this.option = option;
    for (const called of publicFunctions) {
      const trace = { stack: '' };
      Error.captureStackTrace(trace, called);
      // It is one of the callers.
      if (trace.stack.includes('\n')) Error.captureStackTrace(this, called);
    }
  }
}

/** The storage is unreachable, locked or not migrated. Answered with 503. */
export class StorageError extends GatehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_STORAGE', message, options);
  }
}

/** The database lacks migrations of this version of the package. Call `storage.migrate()`. */
export class MigrationsPendingError extends GatehouseError {
  /** Names of the migrations that have not run, in order. */
  readonly pending: readonly string[];

  constructor(pending: readonly string[]) {
    super(
      'ERR_MIGRATIONS_PENDING',
      `The database lacks ${pending.length} migration(s): ${pending.join(', ')}. Run \`gatehouse migrate\` or \`await storage.migrate()\` before serving.`,
    );
    this.pending = pending;
  }
}

/**
 * Fields that were given are invalid: of a client, or the arguments of a search for clients (`ERR_CLIENT_INVALID`), of an assignment of
 * roles and permissions (`ERR_ASSIGNMENT_INVALID`), or of a personal access token (`ERR_PERSONAL_TOKEN_INVALID`).
 */
export abstract class ValidationError extends GatehouseError {
  /** One entry per invalid field. */
  readonly fields: readonly FieldError[];

  constructor(code: GatehouseErrorCode, fields: readonly FieldError[]) {
    super(code, fields.map(({ field, message }) => `${field}: ${message}`).join('; '));
    this.fields = fields;
  }
}

/** The fields of a client are invalid, when it is created or changed, or the arguments of a search for clients. */
export class ClientInvalidError extends ValidationError {
  constructor(fields: readonly FieldError[]) {
    super('ERR_CLIENT_INVALID', fields);
  }
}

/** The client was changed after it was read. Nothing was changed by this call. */
export class ClientChangedError extends GatehouseError {
  constructor() {
    super(
      'ERR_CLIENT_CHANGED',
      'The client was changed in the meantime. Read it again and repeat the change.',
    );
  }
}

/**
 * A client that is looked up at its source cannot be authorized. `unavailable`: what describes it could not be fetched. `invalid`: it is gone,
 * or not valid. `refused`: the host does not allow the client.
 */
export class ClientSourceError extends GatehouseError {
  readonly reason: 'unavailable' | 'invalid' | 'refused';

  constructor(reason: 'unavailable' | 'invalid' | 'refused', message: string, options?: ErrorOptions) {
    super('ERR_CLIENT_SOURCE', message, options);
    this.reason = reason;
  }
}

/** An assignment of roles and permissions is invalid. */
export class AssignmentInvalidError extends ValidationError {
  constructor(fields: readonly FieldError[]) {
    super('ERR_ASSIGNMENT_INVALID', fields);
  }
}

/** There is no client with this id. */
export class ClientNotFoundError extends GatehouseError {
  constructor(id: string) {
    super('ERR_CLIENT_NOT_FOUND', `There is no client ${id}`);
  }
}

/** The principal lacks a permission. The message is the gate's, such as "Missing permission to view schools." */
export class PermissionMissingError extends GatehouseError {
  /** The missing permission, such as `view_schools`. */
  readonly permission: string;
  /**
   * Whether the principal has the permission and only the scopes of the token exclude it. The API then responds with
   * `insufficient_scope`, to which its challenge belongs (RFC 6750 section 3.1).
   */
  readonly insufficientScope: boolean;
  /** The scopes of a token that would suffice, where they are known. */
  readonly scopes: readonly string[] | undefined;
  /** That challenge, for `WWW-Authenticate`, with the scopes that are needed where they are known. */
  readonly challenge: string | undefined;

  constructor(
    permission: string,
    message: string,
    options: {
      challenge?: string | undefined;
      insufficientScope?: boolean;
      scopes?: readonly string[] | undefined;
    } = {},
  ) {
    const { challenge, insufficientScope = challenge !== undefined, scopes } = options;
    super('ERR_PERMISSION_MISSING', message);
    this.permission = permission;
    this.insufficientScope = insufficientScope;
    this.challenge = challenge;
    this.scopes = scopes;
  }
}

/** The message for a missing permission, unless the gate defines one. */
export function missingPermission(permission: string): string {
  // `boats.edit` names a thing first, so that it is no verb with its object.
  if (/[.:]/.test(permission)) return `Missing permission: ${permission}.`;
  return `Missing permission to ${permission.replaceAll('_', ' ')}.`;
}

/** The user has to give the password again: the last time was too long ago, or is not known. */
export class LoginRequiredError extends GatehouseError {
  constructor() {
    super('ERR_LOGIN_REQUIRED', 'Sign in again: this needs a login of a short time ago.');
  }
}

/** The login or consent of a page has ended: it expired, was finished in another tab, or belongs to another browser. */
export class InteractionExpiredError extends GatehouseError {
  constructor(options?: ErrorOptions) {
    super(
      'ERR_INTERACTION_EXPIRED',
      'This sign-in is no longer open. Go back to the app and start again.',
      options,
    );
  }
}

/** The scopes that a consent page grants are not what it may grant. Nothing was stored. */
export class ConsentInvalidError extends GatehouseError {
  constructor(message: string) {
    super('ERR_CONSENT_INVALID', message);
  }
}

/** Too many attempts have failed. The last one was not checked. */
export class TooManyAttemptsError extends GatehouseError {
  override readonly retryAfter: Seconds;

  constructor(retryAfter: Seconds) {
    const seconds = Math.max(Math.ceil(retryAfter), 1);
    super('ERR_TOO_MANY_ATTEMPTS', `Too many attempts. Try again in ${seconds} s.`);
    this.retryAfter = seconds;
  }
}

/**
 * The caller has to correct the request of an action. Throw it in the `run` of an action:
 *
 *     throw new ActionError(409, 'school_closed', 'The school is closed.');
 */
export class ActionError extends GatehouseError {
  /** The `code` of the problem in the response. */
  readonly problemCode: string;

  /**
   * @param status - of the response, 400 to 499
   * @param problemCode - the `code` of the problem: lower-case words joined by underscores
   * @param message - the `detail` of the problem
   * @throws ConfigError for a status outside 400 to 499, or a code of another form
   */
  constructor(status: number, problemCode: string, message: string, options?: ErrorOptions) {
    super('ERR_ACTION', message, { ...options, status });
    if (
      !Number.isInteger(status) ||
      status < 400 ||
      status > 499 ||
      !/^[a-z]+(_[a-z0-9]+)*$/.test(problemCode)
    ) {
      throw new ConfigError(
        `new ActionError(${status}, '${problemCode}')`,
        "give a status from 400 to 499 and a code such as 'school_closed'; any other error is answered with 500",
      );
    }
    this.problemCode = problemCode;
  }
}

/** The request body cannot be read: too large, malformed, or already consumed by another middleware. */
export class BodyError extends GatehouseError {
  constructor(message: string, options?: ErrorOptions & { status?: number }) {
    super('ERR_BODY', message, options);
  }
}

/** Of Node: no connection could be made, or it was cut, so that the same request may succeed later. */
export const CONNECTION_ERRORS: readonly string[] = [
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
];

/**
 * Whether mysql2 has given a connection up because what it received ends too early or makes no sense: it gives most of these errors no
 * code. A member of a Galera cluster sends that when it is killed, or ends a transaction for one of another member.
 */
export function isBrokenAnswer(error: unknown): boolean {
  if (!(error instanceof Error && 'fatal' in error && error.fatal === true)) return false;
  return !('code' in error) || error.code === 'ERR_OUT_OF_RANGE';
}
