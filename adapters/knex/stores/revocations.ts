import { now } from '../../../lib/contracts/clock.ts';
import type { EndedParty, RevocationStore } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import type { Statements } from '../statements.ts';
import type { Integer } from './column-values.ts';

/** Revoked access tokens, and the ends of users, of clients and of all, whose tokens, grants and sessions were ended. */
export function revocationStore(database: Database): RevocationStore {
  const { dialect } = database;
  const add = `
    insert into gatehouse_revocations (kind, value, revoked_at, expires_at) values ('token', ?, ?, ?)
    ${dialect.onConflict({
      table: 'gatehouse_revocations',
      key: ['kind', 'value'],
      // The greater of both, because a longer revocation may have been written first.
      greatest: ['revoked_at', 'expires_at'],
    })}`;

  return {
    async add({ id, revokedAt, expiresAt }) {
      await database.run(add, [id, revokedAt, expiresAt]);
    },
    async end(party) {
      await database.transaction(async (statements) => end(statements, dialect, party));
    },
    async sequence() {
      const row = await database.get<{ sequence: Integer }>(SEQUENCE);
      return Number(row!.sequence);
    },
    async stands({ id, clientId, grant, sequence }) {
      if (!grant) {
        return (await database.get(AGAINST_CLIENT, [id, clientId, sequence, sequence])) === undefined;
      }
      return (await database.get(FOR_USER, [grant.id, grant.userId, clientId, id])) !== undefined;
    },
  };
}

/** Ends what a user, a client or all have begun; runs inside a transaction. */
export async function end(statements: Statements, dialect: Dialect, party: EndedParty): Promise<void> {
  const microseconds = Date.now() * 1000;
  await statements.run(ADVANCE, [microseconds, microseconds]);
  await statements.run(
    `insert into gatehouse_revocations (kind, value, revoked_at, expires_at, sequence)
     select ?, ?, ?, ?, n.sequence from gatehouse_revocations n where n.kind = 'sequence' and n.value = ''
     ${dialect.onConflict({
       table: 'gatehouse_revocations',
       key: ['kind', 'value'],
       replace: ['sequence', 'revoked_at'],
     })}`,
    [...keyOf(party), now(), Number.MAX_SAFE_INTEGER],
  );
}

/** The kind and the value of the row. */
function keyOf(party: EndedParty): readonly [kind: string, value: string] {
  if ('all' in party) return ['all', ''];
  return 'userId' in party ? ['user', party.userId] : ['client', party.clientId];
}

const ADVANCE = `
  update gatehouse_revocations set sequence = case when sequence < ? then ? else sequence + 1 end
  where kind = 'sequence' and value = ''`;

const SEQUENCE = `select sequence from gatehouse_revocations where kind = 'sequence' and value = ''`;

/** A condition on a row `alias` of a grant or a session: not all were ended after it began. */
export function notAllEnded(alias: string): string {
  return `not exists (
    select 1 from gatehouse_revocations a
    where a.kind = 'all' and a.value = '' and a.sequence > coalesce(${alias}.sequence, 0)
  )`;
}

/** A condition on a grant `g`: neither its user, nor its client, nor all were ended after the grant began. */
export const GRANT_NOT_ENDED: string = `
  not exists (
    select 1 from gatehouse_revocations u
    where u.kind = 'user' and u.value = g.user_id and u.sequence > coalesce(g.sequence, 0)
  ) and not exists (
    select 1 from gatehouse_revocations e
    where e.kind = 'client' and e.value = g.client_id and e.sequence > coalesce(g.sequence, 0)
  ) and ${notAllEnded('g')}`;

const FOR_USER = `
  select 1 as stands from gatehouse_grants g
  where g.id = ? and g.user_id = ? and g.client_id = ? and g.revoked_at is null and ${GRANT_NOT_ENDED}
    and not exists (select 1 from gatehouse_revocations t where t.kind = 'token' and t.value = ?)`;

const AGAINST_CLIENT = `
  select 1 as revoked from gatehouse_revocations r
  where (r.kind = 'token' and r.value = ?) or (r.kind = 'client' and r.value = ? and r.sequence > ?)
    or (r.kind = 'all' and r.value = '' and r.sequence > ?) limit 1`;
