import type { FieldError } from './errors/field-errors.ts';

export type { FieldError, FieldErrorCode, FieldErrorParameters } from './errors/field-errors.ts';
export { fieldError } from './errors/field-errors.ts';

/**
 * Every code that a {@link GatehouseError} can carry. Codes are stable: match on them, not on messages.
 */
export type GatehouseErrorCode =
  | 'ERR_CONFIG'
  | 'ERR_STORAGE'
  | 'ERR_MIGRATIONS_PENDING'
  | 'ERR_CLIENT_INVALID'
  | 'ERR_CLIENT_CHANGED'
  | 'ERR_CLIENT_NOT_FOUND'
  | 'ERR_ASSIGNMENT_INVALID'
  | 'ERR_PERMISSION_MISSING'
  | 'ERR_INTERACTION_EXPIRED'
  | 'ERR_TOO_MANY_ATTEMPTS'
  | 'ERR_BODY'
  | 'ERR_ACTION'
  | 'ERR_IDEMPOTENCY_KEY'
  | 'ERR_CROSS_SITE'
  | 'ERR_PDF_INPUT'
  | 'ERR_PDF_UNREADABLE'
  | 'ERR_PDF_HTTP'
  | 'ERR_PDF_CONNECTION'
  | 'ERR_PDF_TIMEOUT'
  | 'ERR_PDF_RESPONSE';

/** The base of everything this package throws on purpose. No message holds a credential. */
export class GatehouseError extends Error {
  /** Stable, and different for each kind of error. */
  readonly code: GatehouseErrorCode;
  /** The HTTP status that fits when the error reaches a caller over HTTP. */
  readonly status: number;

  constructor(code: GatehouseErrorCode, message: string, options?: ErrorOptions & { status?: number }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.status = options?.status ?? 500;
  }
}

/** A mistake in the options, found once at start, or in a call. The message names the place and says what to do. */
export class ConfigError extends GatehouseError {
  /** The option or the call at fault, such as `issuer`, `scopes.schools:read` or `revoke()`. */
  readonly option: string;

  constructor(option: string, remedy: string, options?: ErrorOptions) {
    super('ERR_CONFIG', `${option}: ${remedy}`, options);
    this.option = option;
  }
}

/** The storage could not do what was asked: unreachable, locked or not migrated. Answered with 503. */
export class StorageError extends GatehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_STORAGE', message, { ...options, status: 503 });
  }
}

/** The database's tables are older than this version of the package. `storage.migrate()` is the remedy. */
export class MigrationsPendingError extends GatehouseError {
  /** Names of the migrations that have not run, in order. */
  readonly pending: readonly string[];

  constructor(pending: readonly string[]) {
    super(
      'ERR_MIGRATIONS_PENDING',
      `The database lacks ${pending.length} migration(s): ${pending.join(', ')}. Run \`gatehouse migrate\` or \`await storage.migrate()\` before serving.`,
      { status: 503 },
    );
    this.pending = pending;
  }
}

/** A client was refused at registration or update, or a question about clients cannot be answered. */
export class ClientInvalidError extends GatehouseError {
  /** One entry per mistake. */
  readonly fields: readonly FieldError[];

  constructor(fields: readonly FieldError[]) {
    super('ERR_CLIENT_INVALID', fields.map(({ field, message }) => `${field}: ${message}`).join('; '), {
      status: 422,
    });
    this.fields = fields;
  }
}

/** A client is not what the one who changes it has seen: somebody else was first. Nothing was changed. */
export class ClientChangedError extends GatehouseError {
  constructor() {
    super(
      'ERR_CLIENT_CHANGED',
      'Somebody else has changed this client. Look at it as it is now, and try again.',
      { status: 409 },
    );
  }
}

/** Roles and permissions were refused that somebody was to be given. */
export class AssignmentInvalidError extends GatehouseError {
  /** One entry per mistake. */
  readonly fields: readonly FieldError[];

  constructor(fields: readonly FieldError[]) {
    super('ERR_ASSIGNMENT_INVALID', fields.map(({ field, message }) => `${field}: ${message}`).join('; '), {
      status: 422,
    });
    this.fields = fields;
  }
}

/** There is no client with this id. */
export class ClientNotFoundError extends GatehouseError {
  constructor(id: string) {
    super('ERR_CLIENT_NOT_FOUND', `There is no client ${id}`, { status: 404 });
  }
}

/** Somebody lacks a permission. The message is the gate's, such as "Missing permission to view schools." */
export class PermissionMissingError extends GatehouseError {
  /** The one that is missing, such as `view_schools`. */
  readonly permission: string;
  /**
   * Whether it is held and only the scopes of the token keep it back. A token with more scopes would do, and the API says
   * so in a challenge (RFC 6750 section 3.1).
   */
  readonly insufficientScope: boolean;

  constructor(permission: string, message: string, options: { insufficientScope?: boolean } = {}) {
    super('ERR_PERMISSION_MISSING', message, { status: 403 });
    this.permission = permission;
    this.insufficientScope = options.insufficientScope ?? false;
  }
}

/** What somebody without a permission is told, unless the gate has words of its own. */
export function missingPermission(permission: string): string {
  return `Missing permission to ${permission.replaceAll('_', ' ')}.`;
}

/** The login or consent that a page belongs to is over: expired, finished in another tab, or of another browser. */
export class InteractionExpiredError extends GatehouseError {
  constructor(options?: ErrorOptions) {
    super('ERR_INTERACTION_EXPIRED', 'This sign-in is no longer open. Go back to the app and start again.', {
      ...options,
      status: 400,
    });
  }
}

/** Somebody has guessed too often. What they sent last was not looked at. */
export class TooManyAttemptsError extends GatehouseError {
  /** In seconds, at least 1: for the header `Retry-After`. */
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    const seconds = Math.max(Math.ceil(retryAfter), 1);
    super('ERR_TOO_MANY_ATTEMPTS', `Too many attempts. Try again in ${seconds} s.`, { status: 429 });
    this.retryAfter = seconds;
  }
}

/**
 * An action cannot do what it was asked to, and the caller can do something about it. For the `run` of an action:
 *
 *     throw new ActionError(409, 'school_closed', 'The school is closed.');
 */
export class ActionError extends GatehouseError {
  /** The `code` of the problem that the caller gets. */
  readonly problemCode: string;

  /**
   * @param status - of the answer, 400 to 499
   * @param problemCode - for programs: lower-case words joined by underscores
   * @param message - for people, sent as it is
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

/** A request body that cannot be read: too large, malformed, or already consumed by another middleware. */
export class BodyError extends GatehouseError {
  constructor(message: string, options?: ErrorOptions & { status?: number }) {
    super('ERR_BODY', message, { status: 400, ...options });
  }
}
