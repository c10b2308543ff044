import type {
  Assignment,
  AuditRecord,
  Client,
  ClientSecret,
  Consent,
  Credential,
  DeviceCode,
  Grant,
  LogoutDelivery,
  NewPersonalTokenRow,
  PassportUse,
  PersonalToken,
  RevokedParty,
  RevokedToken,
  Seconds,
  StoredKey,
  StoredRegistration,
  StoredRequest,
  StoredSession,
} from '../../lib/contracts/index.ts';
import { StorageError } from '../../lib/errors.ts';

/** A credential, and the id of the refresh token that it was redeemed for. */
export type CredentialRow = Credential & { readonly successorId?: string | undefined };

/** `neededUntil`: when the grant and all credentials that were issued from it have expired. */
export interface GrantRow {
  grant: Grant;
  neededUntil: Seconds;
  lastUsedAt?: Seconds;
}
/** A personal access token, with the networks that it was used from. */
export type StoredPersonalToken = NewPersonalTokenRow &
  PersonalToken & { readonly networks: readonly string[] };

/** The tables of a storage, shared by its stores because some of them change each other's rows. */
export interface Tables {
  readonly clients: Map<
    string,
    { client: Client; logo?: Uint8Array | undefined; readonly secrets: Map<string, ClientSecret> }
  >;
  /** By client. */
  readonly registrations: Map<string, StoredRegistration>;
  /** By client that registered itself: the user who alone has consented to it; empty for several. */
  readonly soleUsers: Map<string, string>;
  /** By user and client. */
  readonly consents: Map<string, Consent>;
  readonly grants: Map<string, GrantRow>;
  /** By kind and id. */
  readonly credentials: Map<string, CredentialRow>;
  /** By the `jti`. */
  readonly revokedTokens: Map<string, RevokedToken>;
  /** The sequence numbers of the ends: the latest one, the latest of all, and the latest of each user and client. */
  readonly ends: {
    latest: number;
    all: number;
    readonly users: Map<string, number>;
    readonly clients: Map<string, number>;
  };
  readonly sessions: Map<string, StoredSession>;
  readonly keys: Map<string, StoredKey>;
  /** By user. */
  readonly assignments: Map<string, Assignment>;
  readonly audit: Map<string, { readonly record: AuditRecord; readonly expiresAt: Seconds }>;
  readonly requests: Map<string, StoredRequest>;
  readonly attempts: Map<string, { readonly count: number; readonly expiresAt: Seconds }>;
  readonly assertions: Map<string, { readonly expiresAt: Seconds }>;
  readonly deviceCodes: Map<string, DeviceCode>;
  readonly logouts: Map<string, LogoutDelivery>;
  readonly personalTokens: Map<string, StoredPersonalToken>;
  readonly passportUses: Map<string, PassportUse & { readonly expiresAt: Seconds }>;
}

export function emptyTables(): Tables {
  return {
    clients: new Map(),
    registrations: new Map(),
    soleUsers: new Map(),
    consents: new Map(),
    grants: new Map(),
    credentials: new Map(),
    revokedTokens: new Map(),
    ends: { latest: 0, all: 0, users: new Map(), clients: new Map() },
    sessions: new Map(),
    keys: new Map(),
    assignments: new Map(),
    audit: new Map(),
    requests: new Map(),
    attempts: new Map(),
    assertions: new Map(),
    deviceCodes: new Map(),
    logouts: new Map(),
    personalTokens: new Map(),
    passportUses: new Map(),
  };
}

/** A key made of two parts; different parts make different keys. */
export function keyOf(first: string, second: string): string {
  return JSON.stringify([first, second]);
}

/**
 * Checks that no row has the key, as the primary key of a database does.
 * @throws StorageError if one has it
 */
export function throwIfTaken(rows: ReadonlyMap<string, unknown>, key: string): void {
  if (rows.has(key)) throw new StorageError('A row with this id already exists.');
}

/** Changes the row with a key, unless there is none or `change` returns `false`. Returns whether it was changed. */
export function changeRow<Row extends object>(
  rows: Map<string, Row> | undefined,
  key: string,
  change: (row: Row) => Partial<Row> | false,
): boolean {
  const row = rows?.get(key);
  const changed = row !== undefined && change(row);
  if (changed) rows?.set(key, { ...row, ...changed });
  return changed !== false;
}

/** Ends what a user, a client or all have begun. */
export function end({ ends }: Tables, party: RevokedParty): void {
  ends.latest = Math.max(ends.latest + 1, Date.now() * 1000);
  if ('all' in party) ends.all = ends.latest;
  else if ('userId' in party) ends.users.set(party.userId, ends.latest);
  else ends.clients.set(party.clientId, ends.latest);
}

/** The number of the latest end of a client. */
export function endOfClient({ ends }: Tables, clientId: string): number {
  return Math.max(ends.all, ends.clients.get(clientId) ?? 0);
}

/** The number of the latest end of a user. */
export function endOfUser({ ends }: Tables, userId: string): number {
  return Math.max(ends.all, ends.users.get(userId) ?? 0);
}

/** Whether a user was ended after something began. */
export function isUserEnded({ ends }: Tables, userId: string, sequence: number): boolean {
  return sequence < (ends.users.get(userId) ?? 0);
}

/** Whether a grant was not revoked, and neither its user nor its client was ended after it began. */
export function isLive(tables: Tables, { clientId, revokedAt, sequence, userId }: Grant): boolean {
  return (
    revokedAt === undefined &&
    sequence >= endOfUser(tables, userId) &&
    sequence >= endOfClient(tables, clientId)
  );
}

/** A copy of a row, so that a caller cannot change the stored row through the returned one. */
export function copy<Row>(row: Row): Row {
  return structuredClone(row);
}

/** A copy of a row as a database returns it: its payload went through JSON. */
export function copyWithPayload<Row extends { readonly payload: Readonly<Record<string, unknown>> }>(
  row: Row,
): Row {
  return { ...structuredClone(row), payload: JSON.parse(JSON.stringify(row.payload)) };
}
