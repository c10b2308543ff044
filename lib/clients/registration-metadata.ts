import type { Client, ClientFields, ClientMetadata, RegisteredAuthMethod } from '../contracts/index.ts';
import { isLoopback } from '../contracts/loopback.ts';
import { ClientInvalidError } from '../errors.ts';

/** The error codes of RFC 7591 section 3.2.2. */
export type RegistrationErrorCode =
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'invalid_software_statement'
  | 'unapproved_software_statement';

/** A registration, or a change of one, is refused. The message holds no text of the caller. */
export class RegistrationRefused extends Error {
  readonly error: RegistrationErrorCode;

  constructor(error: RegistrationErrorCode, message: string) {
    super(message);
    this.error = error;
  }
}

export function invalidMetadata(message: string): RegistrationRefused {
  return new RegistrationRefused('invalid_client_metadata', message);
}

/** What an app asks to be registered as; its fields are still to be checked as those of every client. */
export interface RequestedRegistration {
  readonly fields: Required<
    Pick<ClientFields, 'name' | 'grantType' | 'redirectUris' | 'confidential' | 'native'>
  >;
  readonly authMethod: RegisteredAuthMethod;
  /** `undefined`: it names none. */
  readonly scopes: readonly string[] | undefined;
}

// Far more than an app needs. Bounds the work that a request causes, and the length of the answer.
const MOST_REDIRECT_URIS = 20;

/**
 * Reads the metadata that an app sends (RFC 7591 section 2). Members that are not known are ignored, and neither stored nor
 * returned; so are `client_uri`, `logo_uri` and the other URIs of pages, which this server neither fetches nor shows.
 *
 * @param registered - how the client authenticates already, which cannot change
 * @throws RegistrationRefused
 */
export function readMetadata(
  sent: Readonly<Record<string, unknown>>,
  registered?: RegisteredAuthMethod,
): RequestedRegistration {
  refuseSoftwareStatement(sent['software_statement']);
  const redirectUris = readRedirectUris(sent['redirect_uris']);
  requireOneOf(sent, 'grant_types', 'authorization_code');
  requireOneOf(sent, 'response_types', 'code');
  const { authMethod, native } = readApplication(sent, redirectUris, registered);
  const name = readText(sent, 'client_name')?.trim() || nameFrom(redirectUris[0]);
  const scope = readText(sent, 'scope');
  return {
    fields: {
      name,
      grantType: 'authorization_code',
      redirectUris,
      confidential: authMethod !== 'none',
      native,
    },
    authMethod,
    scopes: scope === undefined ? undefined : scope.split(' ').filter(Boolean),
  };
}

/** The metadata as registered, for the response (RFC 7591 section 3.2.1). */
export function toClientMetadata(
  { name, native, redirectUris, scopes }: Pick<Client, 'name' | 'native' | 'redirectUris' | 'scopes'>,
  authMethod: RegisteredAuthMethod,
): ClientMetadata {
  return {
    client_name: name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: authMethod,
    // Every client of the authorization code grant gets refresh tokens.
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: native ? 'native' : 'web',
    ...(scopes && scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
  };
}

// The names that RFC 7591 has for the fields of a client.
const MEMBERS: Readonly<Record<string, string>> = {
  name: 'client_name',
  redirectUris: 'redirect_uris',
  native: 'application_type',
};

const MOST_MISTAKES = 3;

/** The error of RFC 7591 for fields that were refused. Any other error stays. */
export function toRefusal(error: unknown): unknown {
  if (!(error instanceof ClientInvalidError)) return error;
  const ofUris = error.fields.filter(({ field }) => field.startsWith('redirectUris'));
  const mistakes = (ofUris.length > 0 ? ofUris : error.fields).slice(0, MOST_MISTAKES);
  const message = mistakes
    .map(({ field, message: text }) => `${field.replace(/^\w+/, (name) => MEMBERS[name] ?? name)}: ${text}`)
    .join('; ');
  return new RegistrationRefused(
    ofUris.length > 0 ? 'invalid_redirect_uri' : 'invalid_client_metadata',
    message,
  );
}

/**
 * The claims of a software statement take precedence over the other metadata, so one that is ignored would register something
 * else than its publisher has signed.
 */
function refuseSoftwareStatement(statement: unknown): void {
  if (statement === undefined || statement === null) return;
  if (typeof statement !== 'string') {
    throw new RegistrationRefused('invalid_software_statement', 'software_statement: give a JWT, or none');
  }
  throw new RegistrationRefused(
    'unapproved_software_statement',
    'software_statement: this server trusts no publisher of software statements; register without one',
  );
}

function readRedirectUris(uris: unknown): readonly [string, ...string[]] {
  if (!isStrings(uris) || uris.length === 0 || uris.length > MOST_REDIRECT_URIS) {
    throw new RegistrationRefused(
      'invalid_redirect_uri',
      `redirect_uris: give an array of 1 to ${MOST_REDIRECT_URIS} URIs`,
    );
  }
  return uris as [string, ...string[]];
}

/** Other values in the list, such as further grant types, are not registered, and the response says so. */
function requireOneOf(sent: Readonly<Record<string, unknown>>, member: string, value: string): void {
  const values = sent[member] ?? [value];
  if (isStrings(values) && values.includes(value)) return;
  throw invalidMetadata(
    `${member}: give an array with ${value}, or leave it out; apps that register themselves get tokens for users only`,
  );
}

const AUTH_METHODS: ReadonlySet<unknown> = new Set<RegisteredAuthMethod>([
  'none',
  'client_secret_basic',
  'client_secret_post',
]);

function readApplication(
  sent: Readonly<Record<string, unknown>>,
  redirectUris: readonly string[],
  registered: RegisteredAuthMethod | undefined,
): { readonly authMethod: RegisteredAuthMethod; readonly native: boolean } {
  const type = sent['application_type'] ?? undefined;
  if (type !== undefined && type !== 'native' && type !== 'web') {
    throw invalidMetadata('application_type: give native or web, or leave it out');
  }
  // An installed app cannot keep a secret, unlike one that names no method and is not known to be installed (RFC 7591 section 2).
  const preset = type === 'native' ? 'none' : 'client_secret_basic';
  const authMethod = sent['token_endpoint_auth_method'] ?? registered ?? preset;
  if (!AUTH_METHODS.has(authMethod)) {
    throw invalidMetadata('token_endpoint_auth_method: give none, client_secret_basic or client_secret_post');
  }
  if (registered !== undefined && authMethod !== registered) {
    throw invalidMetadata('token_endpoint_auth_method: cannot be changed; register again');
  }
  if (type === 'native' && authMethod !== 'none') {
    throw invalidMetadata(
      'token_endpoint_auth_method: an app of the application_type native cannot keep a secret; give none',
    );
  }
  const isInstalled = type === undefined && redirectUris.some(isOnDevice);
  return {
    authMethod: authMethod as RegisteredAuthMethod,
    native: authMethod === 'none' && (type === 'native' || isInstalled),
  };
}

/** Whether a redirect URI leads to a program on the user's device (RFC 8252 section 7). */
function isOnDevice(uri: string): boolean {
  const url = URL.parse(uri);
  if (!url || url.protocol === 'https:') return false;
  return url.protocol !== 'http:' || isLoopback(url.hostname);
}

/** The name of an app that gives none: the host of its redirect URI, or its scheme. */
function nameFrom(redirectUri: string): string {
  const url = URL.parse(redirectUri);
  if (!url) return 'app';
  return /^https?:$/.test(url.protocol) ? url.hostname : url.protocol.slice(0, -1);
}

function readText(sent: Readonly<Record<string, unknown>>, member: string): string | undefined {
  const text = sent[member] ?? undefined;
  if (text === undefined || typeof text === 'string') return text;
  throw invalidMetadata(`${member}: give a string`);
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
