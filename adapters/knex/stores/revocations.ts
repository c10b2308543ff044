import type { Revocation, RevocationStore } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import type { Value } from '../statements.ts';
import type { Integer } from './column-values.ts';
import { inList } from './in-list.ts';

/** Tokens, grants and clients whose signed tokens must stop working. */
export function revocationStore(database: Database): RevocationStore {
  const add = `
    insert into gatehouse_revocations (kind, value, revoked_at, expires_at) values (?, ?, ?, ?)
    ${database.dialect.onConflict({
      table: 'gatehouse_revocations',
      key: ['kind', 'value'],
      // A note that comes late must not shorten what a later one has revoked.
      greatest: ['revoked_at', 'expires_at'],
    })}`;

  return {
    async add({ kind, value, revokedAt, expiresAt }) {
      await database.run(add, [kind, value, revokedAt, expiresAt]);
    },
    async among(keys) {
      if (keys.length === 0) return [];
      const { condition, values } = toCondition(keys);
      const rows = await database.all<RevocationRow>(`${SELECT} where ${condition}`, values);
      return rows.map(toRevocation);
    },
    async since(time) {
      const rows = await database.all<RevocationRow>(`${SELECT} where revoked_at >= ? order by revoked_at`, [
        time,
      ]);
      return rows.map(toRevocation);
    },
  };
}

const SELECT = 'select kind, value, revoked_at, expires_at from gatehouse_revocations';

function toCondition(keys: readonly Pick<Revocation, 'kind' | 'value'>[]): {
  readonly condition: string;
  readonly values: readonly Value[];
} {
  const kinds = Object.entries(Object.groupBy(keys, ({ kind }) => kind)).map(([kind, ofKind]) => ({
    kind,
    asked: inList(ofKind.map(({ value }) => value)),
  }));
  return {
    condition: kinds.map(({ asked }) => `(kind = ? and value in ${asked.placeholders})`).join(' or '),
    values: kinds.flatMap(({ kind, asked }) => [kind].concat(asked.values)),
  };
}

interface RevocationRow {
  readonly kind: Revocation['kind'];
  readonly value: string;
  readonly revoked_at: Integer;
  readonly expires_at: Integer;
}

function toRevocation(row: RevocationRow): Revocation {
  return {
    kind: row.kind,
    value: row.value,
    revokedAt: Number(row.revoked_at),
    expiresAt: Number(row.expires_at),
  };
}
