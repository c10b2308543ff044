import type { CredentialStore, Redemption } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import type { Integer } from './column-values.ts';
import { INSERT_CREDENTIAL, toValues, WITH_LIVE_GRANT } from './credential-rows.ts';

/** Spends a credential in a transaction, step by step. */
export function redeemInSteps(database: Database): CredentialStore['redeem'] {
  const find = `
    select c.consumed_at, c.sealed_successor, g.id as grant_id, g.needed_until
    ${WITH_LIVE_GRANT}${database.dialect.forUpdate}`;

  return async ({ kind, id }, { at, successor, sealedSuccessor, neededUntil = 0 }) =>
    database.transaction(async (statements): Promise<Redemption> => {
      // Of all who try at once, the database lets one change the row; the others wait here and then change none.
      const won = (await statements.run(SPEND, [at, sealedSuccessor ?? null, id, kind])) === 1;
      // Locks the grant, so that a revocation comes wholly before or wholly after.
      const spent = await statements.get<SpentRow>(find, [id, kind]);
      if (!spent) return { outcome: 'gone' };
      if (!won) {
        return {
          outcome: 'spent',
          consumedAt: Number(spent.consumed_at),
          sealedSuccessor: spent.sealed_successor ?? undefined,
        };
      }
      if (successor) await statements.run(INSERT_CREDENTIAL, toValues(successor));
      const keepUntil = Math.max(neededUntil, successor?.expiresAt ?? 0);
      if (keepUntil > Number(spent.needed_until)) {
        await statements.run(KEEP_GRANT, [keepUntil, spent.grant_id]);
      }
      return { outcome: 'redeemed' };
    });
}

const SPEND = `
  update gatehouse_credentials set consumed_at = ?, sealed_successor = ?
  where id = ? and kind = ? and consumed_at is null`;

const KEEP_GRANT = 'update gatehouse_grants set needed_until = ? where id = ?';

interface SpentRow {
  readonly consumed_at: Integer;
  readonly sealed_successor: string | null;
  readonly grant_id: string;
  readonly needed_until: Integer;
}
