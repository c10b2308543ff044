import type { AuditEventType, AuditLog, AuditQuery, AuditRecord, Client } from '../contracts.ts';

/** What happens at an app. Who logs in, and when, is theirs. */
const AT_AN_APP: readonly AuditEventType[] = [
  'token_issued',
  'token_refused',
  'authorization_refused',
  'consent_given',
  'consent_denied',
  'consent_withdrawn',
  'client_created',
  'client_updated',
  'client_disabled',
  'client_enabled',
  'secret_added',
  'secret_removed',
  'tokens_revoked',
];

/** What happened at an app, newest first, without what its owner should not learn of the people who use it. */
export async function listActivity(
  audit: Pick<AuditLog, 'list'>,
  client: Client,
  { administrator, ...query }: Pick<AuditQuery, 'before' | 'limit'> & { administrator: boolean },
): Promise<readonly AuditRecord[]> {
  const records = await audit.list({ ...query, clientId: client.id, types: AT_AN_APP });
  if (administrator) return records;
  return records.map((record) => {
    // The address of an app that acts for itself is the developer's own; any other is that of somebody's home.
    if (client.grantType === 'client_credentials' && record.actorId === undefined) return record;
    const { address: _address, ...rest } = record;
    return rest;
  });
}
