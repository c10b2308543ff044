import type {
  Assignment,
  AuditRecord,
  Client,
  ClientSecret,
  Consent,
  Credential,
  EndedParty,
  Grant,
  RevokedToken,
  StoredKey,
  StoredRequest,
  StoredSession,
} from '../../lib/contracts/index.ts';
import { StorageError } from '../../lib/errors.ts';

/** What is kept. Stores that change each other's rows share it. */
export interface Tables {
  readonly clients: Map<string, { client: Client; readonly secrets: Map<string, ClientSecret> }>;
  /** By user and client. */
  readonly consents: Map<string, Consent>;
  /** `neededUntil`: when the grant and every credential that ever came from it have expired. */
  readonly grants: Map<string, { grant: Grant; neededUntil: number }>;
  /** By kind and id. */
  readonly credentials: Map<string, Credential>;
  /** By the `jti`. */
  readonly revokedTokens: Map<string, RevokedToken>;
  /** Users and clients that were ended, and the number of the latest end of each. */
  readonly ends: {
    latest: number;
    readonly users: Map<string, number>;
    readonly clients: Map<string, number>;
  };
  readonly sessions: Map<string, StoredSession>;
  readonly keys: Map<string, StoredKey>;
  /** By user. */
  readonly assignments: Map<string, Assignment>;
  readonly audit: Map<string, { readonly record: AuditRecord; readonly expiresAt: number }>;
  readonly requests: Map<string, StoredRequest>;
  readonly attempts: Map<string, { readonly count: number; readonly expiresAt: number }>;
}

export function emptyTables(): Tables {
  return {
    clients: new Map(),
    consents: new Map(),
    grants: new Map(),
    credentials: new Map(),
    revokedTokens: new Map(),
    ends: { latest: 0, users: new Map(), clients: new Map() },
    sessions: new Map(),
    keys: new Map(),
    assignments: new Map(),
    audit: new Map(),
    requests: new Map(),
    attempts: new Map(),
  };
}

/** A key of two parts that no other two parts make. */
export function keyOf(first: string, second: string): string {
  return JSON.stringify([first, second]);
}

/**
 * Refuses a row whose key is taken, as the primary key of a database does.
 * @throws StorageError
 */
export function refuseTaken(rows: ReadonlyMap<string, unknown>, key: string): void {
  if (rows.has(key)) throw new StorageError('A row with this id already exists.');
}

/** Ends all that a user or a client has begun. */
export function end({ ends }: Tables, party: EndedParty): void {
  ends.latest += 1;
  if ('userId' in party) ends.users.set(party.userId, ends.latest);
  else ends.clients.set(party.clientId, ends.latest);
}

/** Whether neither a grant nor its user nor its client was ended. */
export function isLive({ ends }: Tables, { clientId, revokedAt, sequence, userId }: Grant): boolean {
  return (
    revokedAt === undefined &&
    sequence >= (ends.users.get(userId) ?? 0) &&
    sequence >= (ends.clients.get(clientId) ?? 0)
  );
}

/** A row of its own for whoever asked, so that nobody changes what is stored by changing what was returned. */
export function copy<Row>(row: Row): Row {
  return structuredClone(row);
}

/** A row as it comes back from a database: its payload went through JSON. */
export function copyWithPayload<Row extends { readonly payload: Readonly<Record<string, unknown>> }>(
  row: Row,
): Row {
  return { ...structuredClone(row), payload: JSON.parse(JSON.stringify(row.payload)) };
}
