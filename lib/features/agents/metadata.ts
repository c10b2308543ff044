import type { Seconds } from '../../contracts/duration.ts';
import type { Client, ClientFields, FurtherClientMetadata, FurtherField } from '../../contracts/index.ts';
import type { ClientMetadata, RegisteredAuthMethod } from './types.ts';
import type { FieldError } from '../../contracts/field-errors.ts';
import { isStrings } from '../../clients/fields.ts';
import { furtherValues } from '../../clients/further-fields.ts';
import { isOnDevice, MOST_REDIRECT_URIS } from '../../clients/redirect-uris.ts';

/**
 * The refusal of a registration or of its change: a 4xx or 503 with an error code of RFC 7591 section 3.2.2 or RFC 6750 section 3.1. The
 * message is for the response, and contains no text of the caller.
 */
export class RegistrationRefused extends Error {
  readonly error: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(error: string, message: string, status = 400, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.error = error;
    this.status = status;
    this.headers = headers;
  }
}

export function invalidMetadata(message: string): RegistrationRefused {
  return new RegistrationRefused('invalid_client_metadata', message);
}

export function unavailable(message: string, status: number, retryAfter: Seconds): RegistrationRefused {
  return new RegistrationRefused('temporarily_unavailable', message, status, {
    'Retry-After': String(retryAfter),
  });
}

/** The registration that an app asks for. Its fields still have to be checked like those of every client. */
export interface RequestedRegistration {
  readonly fields: Required<
    Pick<ClientFields, 'name' | 'grantType' | 'redirectUris' | 'confidential' | 'native'>
  >;
  readonly authMethod: RegisteredAuthMethod;
  /** Empty when the app names no scope. */
  readonly scopes: readonly string[];
}

/**
 * Reads the metadata that an app sends (RFC 7591 section 2). Members that are not known are ignored, and neither stored nor returned; so
 * are `client_uri`, `logo_uri` and the other URIs of pages, which this server neither fetches nor shows.
 *
 * @param known.registered - the authentication method that the client is registered with, which cannot change
 * @param known.further - the fields of the features that are on; the members of other features are not known
 * @throws RegistrationRefused
 */
export function readMetadata(
  sent: Readonly<Record<string, unknown>>,
  {
    further,
    registered,
  }: {
    readonly further: readonly FurtherField[];
    readonly registered?: RegisteredAuthMethod | undefined;
  },
): RequestedRegistration {
  refuseSoftwareStatement(sent['software_statement']);
  const redirectUris = readRedirectUris(sent, 'redirect_uris', 1) as readonly [string, ...string[]];
  for (const { member, value } of lacking(sent)) {
    throw invalidMetadata(
      `${member}: give an array with ${value}, or leave it out; apps that register themselves get tokens for users only`,
    );
  }
  const { authMethod, native } = readApplication(sent, redirectUris, registered);
  const name = readText(sent, 'client_name')?.trim() || nameFrom(redirectUris[0]);
  const scope = readText(sent, 'scope') ?? '';
  return {
    fields: {
      name,
      grantType: 'authorization_code',
      redirectUris,
      ...readFurther(sent, further),
      confidential: authMethod !== 'none',
      native,
    },
    authMethod,
    scopes: scope.split(' ').filter(Boolean),
  };
}

/**
 * The scopes of an app: the allowed ones among the scopes that it names. An app that names no scope gets `preset`.
 *
 * @throws RegistrationRefused when no scope is left
 */
export function permittedScopes<Preset extends Client['scopes']>(
  { scopes: named }: RequestedRegistration,
  allowed: readonly string[],
  preset: Preset,
): readonly string[] | Preset {
  if (named.length === 0) return preset;
  const scopes = allowed.filter((scope) => named.includes(scope));
  if (scopes.length > 0) return scopes;
  throw invalidMetadata('scope: an app that registers itself cannot have any of these scopes');
}

/** The metadata as registered, for the response (RFC 7591 section 3.2.1). */
export function toClientMetadata(
  {
    name,
    native,
    redirectUris,
    scopes,
    ...more
  }: Pick<Client, 'name' | 'native' | 'redirectUris' | 'scopes'>,
  {
    authMethod,
    further,
  }: { readonly authMethod: RegisteredAuthMethod; readonly further: readonly FurtherField[] },
): ClientMetadata {
  return {
    client_name: name,
    redirect_uris: redirectUris,
    ...(Object.assign(
      {},
      ...furtherValues(more, further).map(([{ column, metadata }, value]) =>
        value === undefined || value.length === 0 ? {} : Object.assign({ [column]: value }, metadata),
      ),
    ) as FurtherClientMetadata),
    token_endpoint_auth_method: authMethod,
    // Every client of the authorization code grant gets refresh tokens.
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: native ? 'native' : 'web',
    ...(scopes && scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
  };
}

// The names that RFC 7591 has for the fields of a client.
const MEMBERS: readonly (readonly [field: RegExp, member: string])[] = [
  [/^name$/, 'client_name'],
  [/^redirectUris/, 'redirect_uris'],
  [/^native$/, 'application_type'],
  [/^keys\.jwksUri/, 'jwks_uri'],
  [/^keys(?:\.jwks)?/, 'jwks'],
];

/** Describes a mistake in a field of a client as a mistake in the metadata. */
export function inMetadata({ field, message }: FieldError, further: readonly FurtherField[] = []): string {
  const ofFeatures = further.map(({ column, name }) => [new RegExp(`^${name}`), column] as const);
  const member = [...MEMBERS, ...ofFeatures].find(([pattern]) => pattern.test(field));
  return `${member ? field.replace(...member) : field}: ${message}`;
}

const MOST_MISTAKES = 3;

/** The error of RFC 7591 for fields that are refused. */
export function refusalOf(
  mistakes: readonly FieldError[],
  further: readonly FurtherField[] = [],
): RegistrationRefused {
  const ofUris = mistakes.filter(({ field }) => field.startsWith('redirectUris'));
  const named = (ofUris.length > 0 ? ofUris : mistakes).slice(0, MOST_MISTAKES);
  const error = ofUris.length > 0 ? 'invalid_redirect_uri' : 'invalid_client_metadata';
  return new RegistrationRefused(error, named.map((mistake) => inMetadata(mistake, further)).join('; '));
}

/** The values that are missing in the lists of an app's metadata, where it sends these lists: such an app gets tokens for users only. */
export function lacking(sent: Readonly<Record<string, unknown>>): { member: string; value: string }[] {
  return USERS_ONLY.filter(({ member, value }) => {
    const values = sent[member] ?? [value];
    // Other values, such as further grant types, are not registered.
    return !isStrings(values) || !values.includes(value);
  });
}

const USERS_ONLY = [
  { member: 'grant_types', value: 'authorization_code' },
  { member: 'response_types', value: 'code' },
];

/**
 * The claims of a software statement take precedence over the other metadata. Ignoring a statement would register something else than its
 * publisher has signed.
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

function readRedirectUris(
  sent: Readonly<Record<string, unknown>>,
  member: string,
  least: 0 | 1,
): readonly string[] {
  const most = MOST_REDIRECT_URIS.selfRegistered;
  const uris = sent[member] ?? [];
  if (isStrings(uris) && uris.length >= least && uris.length <= most) return uris;
  // RFC 7591 section 3.2.2 has an error code of its own for redirect URIs.
  const error = member === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata';
  throw new RegistrationRefused(error, `${member}: give an array of ${least} to ${most} URIs`);
}

function readFurther(sent: Readonly<Record<string, unknown>>, fields: readonly FurtherField[]): object {
  for (const member of fields.flatMap(({ metadata = {} }) => Object.keys(metadata)))
    if (typeof (sent[member] ?? true) !== 'boolean') throw invalidMetadata(`${member}: give a boolean`);
  return Object.fromEntries(
    fields.map(({ column, isList, name }) => [
      name,
      isList ? readRedirectUris(sent, column, 0) : readText(sent, column),
    ]),
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
  // An installed app cannot keep a secret, so it gets no secret by default; any other app that names no method does (RFC 7591 section 2).
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
  // A native app may not redirect to a loopback address over https, but a web app may. Editors call themselves `web`, or nothing.
  const isInstalled = redirectUris.some((uri) => {
    const protocol = URL.parse(uri)?.protocol ?? 'https:';
    return protocol === 'http:' ? type === undefined && isOnDevice(uri) : protocol !== 'https:';
  });
  return {
    authMethod: authMethod as RegisteredAuthMethod,
    native: authMethod === 'none' && (type === 'native' || isInstalled),
  };
}

/** The name of an app that gives none: the host or the scheme of its redirect URI. */
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
