import type {
  Assignment,
  AuditRecord,
  Client,
  ClientSecret,
  Consent,
  Credential,
  Grant,
  Revocation,
  StoredKey,
  StoredRecord,
  StoredRequest,
  StoredSession,
} from '../../lib/contracts.ts';

/** What is kept. Stores that change each other's rows share it. */
export interface Tables {
  readonly clients: Map<string, { client: Client; readonly secrets: Map<string, ClientSecret> }>;
  /** By user and client. */
  readonly consents: Map<string, Consent>;
  /** `neededUntil`: when the grant and every credential that ever came from it have expired. */
  readonly grants: Map<string, { grant: Grant; neededUntil: number }>;
  /** By kind and id. */
  readonly credentials: Map<string, Credential>;
  /** By kind and value. */
  readonly revocations: Map<string, Revocation>;
  readonly sessions: Map<string, StoredSession>;
  readonly interactions: Map<string, StoredRecord>;
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
    revocations: new Map(),
    sessions: new Map(),
    interactions: new Map(),
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

/** Adds the later of the two times when there is such a revocation already. */
export function addRevocation({ revocations }: Tables, revocation: Revocation): void {
  const key = keyOf(revocation.kind, revocation.value);
  const known = revocations.get(key);
  revocations.set(key, {
    ...revocation,
    revokedAt: Math.max(revocation.revokedAt, known?.revokedAt ?? 0),
    expiresAt: Math.max(revocation.expiresAt, known?.expiresAt ?? 0),
  });
}
