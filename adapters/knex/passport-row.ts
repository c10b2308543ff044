/** A client of Laravel Passport, in one form for all of its versions. */
export interface PassportClient {
  /** A number as text, or a UUID. */
  readonly id: string;
  readonly name: string;
  /** As it is stored: in plain text, or hashed. `undefined`: a public client. */
  readonly secret: string | undefined;
  readonly redirectUris: readonly string[];
  /** From version 13 on. `undefined`: the grant types follow from the other members. */
  readonly grantTypes: readonly string[] | undefined;
  /** Whether it issues personal access tokens. Used before version 13; from then on it is in `grantTypes`. */
  readonly personalAccess: boolean;
  /** Whether it uses the password grant (RFC 6749 section 4.3). Used before version 13; from then on it is in `grantTypes`. */
  readonly password: boolean;
  readonly scopes: readonly string[] | undefined;
  /** The name of the user provider, when the app has several. */
  readonly provider: string | undefined;
  readonly owner: { readonly id: string; readonly type: string | undefined } | undefined;
  readonly revoked: boolean;
  /** In seconds since 1970. */
  readonly createdAt: number | undefined;
}

type Row = Readonly<Record<string, unknown>>;

/** Reads a row of `oauth_clients`. */
export function toPassportClient(row: Row): PassportClient {
  const owner = text(row['owner_id'] ?? row['user_id']);
  return {
    id: text(row['id']) ?? '',
    name: text(row['name']) ?? '',
    secret: text(row['secret']),
    redirectUris: list(row['redirect_uris'] ?? row['redirect']) ?? [],
    grantTypes: list(row['grant_types']),
    personalAccess: flag(row['personal_access_client']),
    password: flag(row['password_client']),
    scopes: list(row['scopes']),
    provider: text(row['provider']),
    owner: owner === undefined ? undefined : { id: owner, type: text(row['owner_type']) },
    revoked: flag(row['revoked']),
    createdAt: time(row['created_text']),
  };
}

/** Passport treats an empty string like null. */
function text(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** JSON from version 13 on, separated by commas before; a database that was upgraded by hand may have both. */
function list(value: unknown): readonly string[] | undefined {
  const parsed = typeof value === 'string' ? parse(value) : value;
  if (Array.isArray(parsed)) return parsed.filter((entry) => typeof entry === 'string');
  if (typeof parsed !== 'string') return undefined;
  return parsed
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** Booleans are numbers on SQLite and MySQL. */
function flag(value: unknown): boolean {
  return value === true || Number(value) === 1;
}

/** Laravel stores times without a zone, in UTC unless the app is configured otherwise. */
function time(value: unknown): number | undefined {
  const milliseconds =
    typeof value === 'string' ? Date.parse(`${value.slice(0, 19).replace(' ', 'T')}Z`) : NaN;
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}
