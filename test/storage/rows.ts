import type {
  AuditEvent,
  AuditOrigin,
  AuditRecord,
  Client,
  StoredSecret,
  Consent,
  Credential,
  FoundCredential,
  Grant,
  RevokedToken,
  StoredKey,
  StoredRequest,
  StoredSession,
} from '../../lib/contracts/index.ts';
import { completeClient } from '../../lib/testing/complete-client.ts';

/** The current time in the tests, in seconds since 1970. */
export const NOW = 1_750_000_000;
export const HOUR = 3600;

/** Ids that equal `Id` in a comparison without case, trailing blanks or accents. */
export const LOOKALIKES: readonly string[] = ['id', 'ID', 'Id ', ' Id', 'Íd'];

/** Makes a row of its fields; those that are left out are as in the first one. */
type RowOf<T> = (fields?: Partial<T>) => T;

function rowOf<T>(first: T): RowOf<T> {
  return (fields) => ({ ...structuredClone(first), ...fields });
}

export function aClient(fields: Partial<Client> = {}): Client {
  const given = {
    id: '6f1c1d5e-4c8e-4f57-9a3b-0f6f3f0b6f11',
    name: 'Timetable',
    redirectUris: ['https://timetable.example/callback', 'https://timetable.example/?a=1&b=%20'],
    createdAt: NOW,
    updatedAt: NOW,
    ...fields,
  };
  return completeClient(given, 'authorization_code');
}

export const aSecret: RowOf<StoredSecret> = rowOf<StoredSecret>({
  id: 'secret-1',
  hash: 'K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols',
  label: 'production, May',
  hint: 'x4f2',
  createdAt: NOW,
  expiresAt: undefined,
  lastUsedAt: undefined,
});

export const aConsent: RowOf<Consent> = rowOf<Consent>({
  userId: 'ann',
  clientId: 'timetable',
  scopes: ['schools:read'],
  hosts: { 'https://timetable.example': ['schools:read'] },
  createdAt: NOW,
  updatedAt: NOW,
  lastUsedAt: undefined,
});

export const aGrant: RowOf<Grant> = rowOf<Grant>({
  id: 'grant-1',
  userId: 'ann',
  clientId: 'timetable',
  scopes: ['schools:read', 'schools:write'],
  createdAt: NOW,
  expiresAt: NOW + 24 * HOUR,
  revokedAt: undefined,
  sequence: 1000,
  origin: { address: '2001:db8::1', userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' },
  sessionUid: undefined,
});

export const aCode: RowOf<Credential> = rowOf<Credential>({
  kind: 'code',
  id: 'code-1',
  grantId: 'grant-1',
  payload: { redirectUri: 'https://timetable.example/callback', nested: { list: [1, 'ü', null] } },
  expiresAt: NOW + 60,
  consumedAt: undefined,
  sealedSuccessor: undefined,
});

/** The rows of a found credential. */
export function rowsOf(found: FoundCredential | undefined): Pick<FoundCredential, 'credential' | 'grant'> {
  const { credential, grant } = found!;
  return { credential, grant };
}

export function aRefreshToken(fields: Partial<Credential> = {}): Credential {
  return aCode({ kind: 'refresh_token', id: 'refresh-1', expiresAt: NOW + HOUR, ...fields });
}

export function aRevokedToken(fields: Partial<RevokedToken> = {}): RevokedToken {
  return { id: 'jti-1', revokedAt: NOW, expiresAt: NOW + HOUR, ...fields };
}

export const aSession: RowOf<StoredSession> = rowOf<StoredSession>({
  id: 'session-1',
  uid: 'uid-1',
  userId: 'ann',
  payload: { iat: NOW, loginTs: NOW },
  expiresAt: NOW + HOUR,
  sequence: 1000,
  origin: { address: '2001:db8::1', userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' },
  lastUsedAt: NOW,
});

export const aKey: RowOf<StoredKey> = rowOf<StoredKey>({
  id: 'key-1',
  use: 'token',
  generation: 1,
  material: '{"kty":"EC"}',
  createdAt: NOW,
  activeAt: NOW + 60,
  retiresAt: undefined,
});

/** An audit record; by default a login of Ann at {@link NOW}. */
export function aRecord(
  fields: { id: string; at?: number },
  event: AuditEvent & AuditOrigin = { type: 'login', userId: 'ann' },
): AuditRecord {
  return { at: NOW, ...fields, ...event };
}

export const aRequest: RowOf<StoredRequest> = rowOf<StoredRequest>({
  id: 'request-1',
  fingerprint: 'fingerprint-1',
  attempt: 'attempt-1',
  leasedUntil: NOW + 30,
  expiresAt: NOW + 24 * HOUR,
  answer: undefined,
});
