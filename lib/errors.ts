/** By code, the HTTP status of a response with the error, unless the error says another, and the code of its problem. */
export const ERRORS = {
  ERR_CONFIG: { status: 500, problem: 'internal_error' },
  ERR_STORAGE: { status: 503, problem: 'temporarily_unavailable' },
  ERR_MIGRATIONS_PENDING: { status: 503, problem: 'temporarily_unavailable' },
  ERR_CLIENT_INVALID: { status: 422, problem: 'client_invalid' },
  ERR_CLIENT_CHANGED: { status: 409, problem: 'client_changed' },
  ERR_CLIENT_METADATA: { status: 400, problem: 'client_metadata' },
  ERR_CLIENT_NOT_FOUND: { status: 404, problem: 'client_not_found' },
  ERR_ASSIGNMENT_INVALID: { status: 422, problem: 'assignment_invalid' },
  ERR_PERMISSION_MISSING: { status: 403, problem: 'missing_permission' },
  ERR_INTERACTION_EXPIRED: { status: 400, problem: 'interaction_expired' },
  ERR_CONSENT_INVALID: { status: 422, problem: 'consent_invalid' },
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
  ERR_HTML_PDF_INPUT: { status: 400, problem: 'html_invalid' },
  ERR_HTML_PDF_MISSING: { status: 422, problem: 'html_invalid' },
  ERR_HTML_PDF_FULL: { status: 503, problem: 'temporarily_unavailable' },
  ERR_HTML_PDF_CLOSED: { status: 503, problem: 'temporarily_unavailable' },
  ERR_HTML_PDF_TIMEOUT: { status: 504, problem: 'temporarily_unavailable' },
  ERR_HTML_PDF_MEMORY: { status: 500, problem: 'internal_error' },
  ERR_HTML_PDF_CRASHED: { status: 500, problem: 'internal_error' },
  ERR_HTML_PDF_BROWSER: { status: 500, problem: 'internal_error' },
} as const;

/**
 * Every code that a {@link GatehouseError} can carry. Codes are stable: match on them, not on messages.
 *
 * @useDeclaredType
 */
export type GatehouseErrorCode = keyof typeof ERRORS;

/** The base class of the errors of this package. No message contains a credential. */
export class GatehouseError extends Error {
  /** Stable: match on it, not on the message. */
  readonly code: GatehouseErrorCode;
  /** The HTTP status of a response with this error. */
  readonly status: number;

  constructor(code: GatehouseErrorCode, message: string, options?: ErrorOptions & { status?: number }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.status = options?.status ?? ERRORS[code].status;
  }
}

/** An invalid option, found at start, or an invalid argument. The message names it and says what to do. */
export class ConfigError extends GatehouseError {
  /** The invalid option or call, such as `issuer`, `scopes.schools:read` or `revoke()`. */
  readonly option: string;

  constructor(option: string, remedy: string, options?: ErrorOptions) {
    super('ERR_CONFIG', `${option}: ${remedy}`, options);
    this.option = option;
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

/** The fields of a client are invalid, at registration or update, or the arguments of a search for clients. */
export class ClientInvalidError extends GatehouseError {
  /** One entry per invalid field. */
  readonly fields: readonly FieldError[];

  constructor(fields: readonly FieldError[]) {
    super('ERR_CLIENT_INVALID', fields.map(({ field, message }) => `${field}: ${message}`).join('; '));
    this.fields = fields;
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
 * A client that is known only by the URL of its metadata document cannot be authorized. `unavailable`: the document could not be
 * fetched. `invalid`: it is gone, or not valid. `refused`: the option `clients.documents` does not allow the client.
 */
export class ClientMetadataError extends GatehouseError {
  readonly reason: 'unavailable' | 'invalid' | 'refused';

  constructor(reason: 'unavailable' | 'invalid' | 'refused', message: string, options?: ErrorOptions) {
    super('ERR_CLIENT_METADATA', message, options);
    this.reason = reason;
  }
}

/** An assignment of roles and permissions is invalid. */
export class AssignmentInvalidError extends GatehouseError {
  /** One entry per invalid field. */
  readonly fields: readonly FieldError[];

  constructor(fields: readonly FieldError[]) {
    super('ERR_ASSIGNMENT_INVALID', fields.map(({ field, message }) => `${field}: ${message}`).join('; '));
    this.fields = fields;
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
  return `Missing permission to ${permission.replaceAll('_', ' ')}.`;
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
  /** For the header `Retry-After`: in seconds, at least 1. */
  readonly retryAfter: number;

  constructor(retryAfter: number) {
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

/** The messages of field errors, by code. `{most}` and `{name}` are replaced by the parameters of the error. */
const MISTAKES = {
  unknown_field: 'there is no such field',
  not_boolean: 'give true or false',
  not_string: 'give a string',
  not_strings: 'give an array of strings',
  out_of_range: 'give a number from 1 to {most}',

  name_length: 'give a name of 1 to {most} characters',
  control_characters: 'leave out control characters',
  grant_type_unknown: 'choose authorization_code, client_credentials or device_code',
  grant_type_fixed: 'cannot be changed; register another client',
  device_code_off: 'set the option clients.devices of the server first',
  authorization_code_only: 'for authorization code clients only',
  client_credentials_only: "for client credentials only; for other clients the user's own apply",
  native_with_secret: 'an installed app cannot keep a secret; set confidential to false',
  secret_required: 'client credentials need a secret (RFC 6749 section 4.4)',
  user_id: "give a user's id",
  client_id_form: '1 to 255 printable ASCII characters without spaces',
  administrators_only: 'only an administrator can set this',
  first_party_fixed: 'only an administrator can change this of a first-party client',
  name_reserved: 'this name, or one that looks like it, is reserved',
  name_mixed_scripts:
    'use the letters of one script; letters of different scripts can look the same (UTS 39)',
  from_document: 'comes from the metadata document of the client, and is changed there',
  unregistered_first_party: 'nobody has registered this client, so users are always asked for consent',
  unregistered_scopes: 'list the scopes; a client that nobody registered cannot have all',
  disabled_document:
    'a disabled client with a metadata document would come back with its next request; leave it disabled, or enable it first',
  too_many_apps: 'a user can have at most {most} apps; delete one first',

  redirect_uri_missing: 'an authorization code client needs at least one',
  redirect_uri_unused: 'only an authorization code client has redirect URIs',
  too_many_redirect_uris: 'at most {most}',
  uri_empty: 'give a URI',
  uri_length: 'at most {most} characters',
  uri_characters: 'percent-encode spaces, control characters and letters outside of ASCII',
  uri_relative: 'give an absolute URI, such as https://app.example/callback',
  uri_fragment: 'a redirect URI has no fragment (RFC 6749 section 3.1.2)',
  uri_wildcard: 'wildcards are not matched; register each URI (RFC 9700 section 2.1)',
  uri_credentials: 'leave out the user name and password',
  uri_form: 'write it as https://host/path',
  uri_scheme: 'use https; other schemes are for native apps',
  uri_insecure:
    'use https; http is for loopback addresses only, such as http://localhost (RFC 9700 section 2.6)',
  uri_private_scheme:
    'a scheme of your own is a reversed domain name, such as com.example.app:/callback (RFC 8252 section 7.1)',
  uri_http_host: 'a native app uses http on 127.0.0.1, [::1] or localhost only (RFC 8252 section 7.3)',
  uri_https_loopback: 'use http on a loopback address (RFC 8252 section 7.3)',

  unknown_scope: 'there is no scope "{name}"',
  unknown_role: 'there is no role "{name}"',
  unknown_permission: 'there is no permission "{name}"',
  not_assignable: 'you cannot assign "{name}"',
  assignment_form: 'give an object with roles and permissions',
  assignment_field: 'there is no such field; give roles and permissions',
  user_id_length: "give a user's id, 1 to {most} characters",

  keys_form: "give { jwks: { keys: [...] } } or { jwksUri: 'https://...' }",
  keys_not_accepted: 'this server accepts no keys of clients; switch on its option clients.keys',
  keys_of_public_client: 'a public client does not authenticate; keys are for confidential clients',
  jwks_form: 'give a JWK Set: an object with an array "keys" (RFC 7517 section 5)',
  keys_count: 'give 1 to {most} keys',
  keys_size: 'at most {most} characters of JSON',
  key_form: 'give a public key as a JWK, an object (RFC 7517 section 4)',
  key_private:
    'it has its private part (such as d, p, q or k), which has left its owner now and must not be used any more; make a new pair of keys, and give the public one only',
  key_id_form: 'its kid is text of 1 to {most} characters, without control characters',
  key_id_missing: 'with several keys, give each a kid of its own, which assertions name',
  key_duplicate: 'another key has the kid "{name}" too',
  key_type: 'give an RSA key, an EC key (crv P-256, P-384 or P-521), or an OKP key (crv Ed25519)',
  key_algorithm: 'its alg does not belong to this kind of key; give {name}, or leave it out',
  key_use: 'it is not for signatures; its use is "sig", and key_ops have "verify"',
  key_invalid: 'its values are those of no valid public key',
  key_length: 'give an RSA key of 2048 to 4096 bits',
  jwks_uri_form:
    'give an https URL of at most {most} characters, without user name, password, fragment and spaces',
  jwks_uri_private: 'give a public address; for tests on one machine, give the keys themselves',
  label_form: 'at most {most} characters, without control characters',
  public_client: 'a public client has no secrets',
  too_many_secrets: 'a client has at most {most} secrets; delete one that is not used',
  secret_empty: 'the secret is empty; give its value',
  bcrypt_form: 'this is not a bcrypt hash, such as $2y$10$..., with a cost of 4 to 15',
  lifetimes_form: "give an object such as { accessToken: '15 minutes' }",
  unknown_lifetime: 'there is no such lifetime; give accessToken, refreshToken or refreshTokenAbsolute',
  lifetime_too_short: 'give at least 1 s',
  lifetime_too_long: "at most {most} s, which is the server's own: a client can only shorten it",
  not_duration: "give seconds, or a number and a unit such as '1 hour'",
  time_form: 'give whole seconds since 1970',
  time_past: 'give a time in the future',
} as const;

/**
 * The code of a field error. Codes are stable: match on them, not on messages.
 *
 * @useDeclaredType
 */
export type FieldErrorCode = keyof typeof MISTAKES;

/** The values in the message of a {@link FieldError}, such as `{ most: 100 }`. */
export type FieldErrorParameters = Readonly<Partial<Record<'most' | 'name', string | number>>>;

/** An error in one field of a client or an assignment. */
export interface FieldError {
  /** The field, such as `name` or `redirectUris[1]`. */
  field: string;
  code: FieldErrorCode;
  /** In English, for developers. */
  message: string;
  /** Absent if the message has no values. */
  parameters?: FieldErrorParameters;
}

/** The mistake in a value: the arguments of `fieldError()` after the field. */
export type Mistake = readonly [code: FieldErrorCode, parameters?: FieldErrorParameters];

/** A value that was checked, or the mistakes in it, at least one. */
export type Checked<T> =
  | { readonly checked: T; readonly mistakes?: undefined }
  | { readonly checked?: undefined; readonly mistakes: readonly FieldError[] };

/** Creates the error of a field. */
export function fieldError(
  field: string,
  code: FieldErrorCode,
  parameters?: FieldErrorParameters,
): FieldError {
  const message = MISTAKES[code].replaceAll(/\{(most|name)\}/g, (_, name: 'most' | 'name') =>
    String(parameters?.[name] ?? ''),
  );
  return { field, code, message, ...(parameters ? { parameters } : {}) };
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
