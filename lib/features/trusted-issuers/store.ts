import { now } from '../../contracts/clock.ts';
import { toSeconds } from '../../contracts/duration.ts';
import type { Seconds } from '../../contracts/index.ts';
import { correctedTime, timeValues } from '../../database/clock.ts';
import type { CoreSteps, Database } from '../../database/database.ts';
import { CLIENT_IS_NOT_ENDED, notEnded } from '../../database/ends.ts';
import { errorKind } from '../../database/error-kinds.ts';
import { integer, isStorable, json, mapRows, optional, text, toOptionalNumber } from '../../database/rows.ts';
import type { Integer, Row } from '../../database/rows.ts';
import type { Value } from '../../database/statements.ts';
import { StorageError } from '../../errors.ts';
import { ALLOWED_GRANT_TABLE, USED_ASSERTION_TABLE } from './tables.ts';
import type { AllowedGrant, AllowedGrantStore, FoundGrant, UsedAssertion } from './types.ts';

const ALLOWED = ALLOWED_GRANT_TABLE.name;
const USED = USED_ASSERTION_TABLE.name;

/** The `expiresAt` of the grants, which are needed for as long as their user and their client are there, as consents are. */
export const FOREVER: Seconds = 253_402_300_799;

/** What issuers have allowed, and used assertions. */
export function allowedGrantStore(database: Database, { grantSteps }: CoreSteps): AllowedGrantStore {
  const { clock, countsConflicts } = database.dialect;
  const time = correctedTime(clock);
  const insertUse = `insert into ${USED} (${USES.columns}) values (?, ?, ?, ?, ${time}, ${time})`;
  const findUse = `select ${USES.columns}, ${clock} as clock from ${USED} where id = ?`;
  // On other servers, a stored row is an error.
  const unlessStored = countsConflicts ? ' on conflict do nothing' : '';
  const insertAllowed = `${ALLOWED_GRANTS.insertFor()} from (select 1 as one) given where ${CLIENT_IS_NOT_ENDED}${unlessStored}`;

  return {
    async find(id) {
      const row = await database.get<FoundRow>(`${SELECT} where a.id = ?`, [id]);
      return row && toFound(row);
    },
    async list(userId) {
      if (!isStorable(userId)) return [];
      const sql = `${SELECT} where a.user_id = ? order by a.created_at, a.id`;
      return (await database.all<FoundRow>(sql, [userId])).map(toFound);
    },
    async begin(allowed, { grant, over, use }) {
      const values =
        over === undefined
          ? ALLOWED_GRANTS.values(allowed)
          : [allowed.grantId, JSON.stringify(allowed.access), allowed.id, over];
      const first = {
        sql: over === undefined ? insertAllowed : REPLACE,
        values: [...values, allowed.clientId, use.sequence, use.sequence],
      };
      try {
        const begun = await database.runSteps([
          { sql: insertUse + unlessStored, values: useValues(use), needs: 'change' },
          { ...first, needs: 'change' },
          ...(over === undefined ? [] : [{ sql: UNNEEDED, values: [now(), over] }]),
          ...grantSteps(grant, undefined, {}),
        ]);
        return begun !== undefined;
      } catch (error) {
        if (error instanceof StorageError && errorKind(error.cause) === 'duplicate key') return false;
        throw error;
      }
    },
    async widen(id, before, access) {
      const values = [JSON.stringify(access), id, JSON.stringify(before)];
      return (await database.run(`update ${ALLOWED} set access = ? where id = ? and access = ?`, values)) > 0;
    },
    async forget(userId, clientId) {
      if (!isStorable(userId) || !isStorable(clientId)) return false;
      const found = await database.all<FoundRow>(`${SELECT} where a.user_id = ? and a.client_id = ?`, [
        userId,
        clientId,
      ]);
      let isForgotten = false;
      for (const { grantId, id } of found.map(toFound).filter(({ state }) => state === 'ended')) {
        const steps = [
          {
            sql: `delete from ${ALLOWED} where id = ? and grant_id = ?`,
            values: [id, grantId],
            needs: 'change',
          },
          { sql: UNNEEDED, values: [now(), grantId] },
        ] as const;
        if ((await database.runSteps(steps)) !== undefined) isForgotten = true;
      }
      return isForgotten;
    },
    use: async (assertion) => database.insertUnlessStored(insertUse, useValues(assertion)),
    async findUse(id) {
      const row = await database.get<Row & { readonly clock: Integer | null }>(findUse, [id]);
      if (!row) return undefined;
      const { digest, grantId, sequence, usedAt } = USES.read(row);
      const at = toSeconds(toOptionalNumber(row.clock) ?? Date.now());
      return { digest, grantId, sequence, usedFor: at - usedAt };
    },
  };
}

const ALLOWED_GRANTS = mapRows<AllowedGrant>(ALLOWED_GRANT_TABLE, {
  id: text('id'),
  issuer: text('issuer'),
  userId: text('user_id'),
  clientId: text('client_id'),
  grantId: text('grant_id'),
  access: json('access'),
  createdAt: integer('created_at'),
});
const OF_A = ALLOWED_GRANTS.of('a');

const USES = mapRows<UsedAssertion>(USED_ASSERTION_TABLE, {
  id: text('id'),
  digest: text('digest'),
  grantId: optional(text('grant_id')),
  sequence: integer('sequence'),
  usedAt: integer('used_at'),
  expiresAt: integer('expires_at'),
});

function useValues(use: UsedAssertion): Value[] {
  return [...USES.values(use).slice(0, -2), ...timeValues(use.usedAt), ...timeValues(use.expiresAt)];
}

interface FoundRow extends Row {
  readonly state: FoundGrant['state'];
  readonly last_used_at: Integer | null;
}

function toFound(row: FoundRow): FoundGrant {
  return { ...OF_A.read(row), state: row.state, lastUsedAt: toOptionalNumber(row.last_used_at) };
}

// A revoked grant that is not needed any more has made room for others of its user and client: nobody has ended it. One that was pruned
// after that has no sequence number, and so was not begun after any end.
const SELECT = `
  select ${OF_A.columns}, g.last_used_at as last_used_at,
    case when g.revoked_at is not null then case when g.needed_until < ${FOREVER / 2} then 'over' else 'ended' end
      when ${notEnded('g', ['user', 'client', 'all'])} then 'live' else 'over' end as state
  from ${ALLOWED} a left join gatehouse_grants g on g.id = a.grant_id`;

const REPLACE = `
  update ${ALLOWED} set grant_id = ?, access = ? where id = ? and grant_id = ? and ${CLIENT_IS_NOT_ENDED}`;

// So that it is pruned: nothing leads to it any more.
const UNNEEDED = 'update gatehouse_grants set needed_until = ? where id = ?';
