import { now } from '../../contracts/clock.ts';
import type { RevokedParty, RevocationStore } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import type { Statements } from '../statements.ts';
import type { Integer } from '../rows.ts';
import { notEnded } from '../ends.ts';
import { writeEnd } from './ends.ts';
import type { WrittenEnds } from './ends.ts';

/** Revoked access tokens, and the ends of users, of clients and of all, whose tokens, grants and sessions were ended. */
export function revocationStore(database: Database, written: WrittenEnds): RevocationStore {
  const { dialect } = database;
  const revokeToken = `
    insert into gatehouse_revocations (kind, value, revoked_at, expires_at) values ('token', ?, ?, ?)
    ${dialect.onConflict({
      table: 'gatehouse_revocations',
      key: ['kind', 'value'],
      // The greater of both, because a longer revocation may have been written first.
      greatest: ['revoked_at', 'expires_at'],
    })}`;

  return {
    async revokeToken({ id, revokedAt, expiresAt }) {
      const values = [id, revokedAt, expiresAt];
      // Only servers revoke tokens, and all servers on a storage have the same readers.
      if (!written.hasReader('token')) await database.run(revokeToken, values);
      else
        await database.transaction(async (statements) => {
          await statements.run(revokeToken, values);
          await writeEnd(statements, { kind: 'token', value: id });
        });
      written.emit('token', { tokenId: id });
    },
    async revokeAllOf(party) {
      await database.transaction(async (statements) => end(statements, dialect, party));
      written.emit(keyOf(party)[0], 'all' in party ? undefined : party);
    },
    async latestSequence() {
      const row = await database.get<{ sequence: Integer }>(SEQUENCE);
      return Number(row!.sequence);
    },
    async isValid({ id, clientId, grant, sequence }) {
      if (!grant) {
        return (await database.get(AGAINST_CLIENT, [id, clientId, sequence, sequence])) === undefined;
      }
      return (await database.get(FOR_USER, [grant.id, grant.userId, clientId, id])) !== undefined;
    },
  };
}

/** Ends what a user, a client or all have begun; runs inside a transaction. */
export async function end(statements: Statements, dialect: Dialect, party: RevokedParty): Promise<void> {
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
  const [kind, value] = keyOf(party);
  await writeEnd(statements, { kind, value, ...('all' in party ? {} : party) });
}

/** The kind and the value of the row. */
function keyOf(party: RevokedParty): readonly [kind: 'user' | 'client' | 'all', value: string] {
  if ('all' in party) return ['all', ''];
  return 'userId' in party ? ['user', party.userId] : ['client', party.clientId];
}

const ADVANCE = `
  update gatehouse_revocations set sequence = case when sequence < ? then ? else sequence + 1 end
  where kind = 'sequence' and value = ''`;

/** The number of the latest end of a user, a client or all. */
export const SEQUENCE = `select sequence from gatehouse_revocations where kind = 'sequence' and value = ''`;

/** A condition on a grant `g`: it was not revoked, and neither its user, nor its client, nor all were ended after it began. */
export const GRANT_IS_LIVE: string = `
  g.revoked_at is null and ${notEnded('g', ['user', 'client', 'all'])}`;

const FOR_USER = `
  select 1 as valid from gatehouse_grants g
  where g.id = ? and g.user_id = ? and g.client_id = ? and ${GRANT_IS_LIVE}
    and not exists (select 1 from gatehouse_revocations t where t.kind = 'token' and t.value = ?)`;

// A union, because for conditions joined with `or` PostgreSQL may read the whole table.
const AGAINST_CLIENT = `
  select 1 as revoked from gatehouse_revocations where kind = 'token' and value = ?
  union all select 1 from gatehouse_revocations where kind = 'client' and value = ? and sequence > ?
  union all select 1 from gatehouse_revocations where kind = 'all' and value = '' and sequence > ?`;
