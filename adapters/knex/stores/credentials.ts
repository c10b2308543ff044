import type { Credential, CredentialStore, Redemption } from '../../../lib/contracts.ts';
import type { Database } from '../database.ts';
import type { Value } from '../statements.ts';
import { toOptionalNumber, toPayload } from './column-values.ts';
import type { Integer } from './column-values.ts';
import { GRANT_COLUMNS, toGrant } from './grant-rows.ts';
import type { GrantRow } from './grant-rows.ts';

/** Authorization codes and refresh tokens. */
export function credentialStore(database: Database): CredentialStore {
  return {
    async start(grant, code) {
      await database.transaction(async (statements) => {
        await statements.run(INSERT_GRANT, [
          grant.id,
          grant.userId,
          grant.clientId,
          JSON.stringify(grant.scopes),
          grant.createdAt,
          grant.expiresAt,
          grant.revokedAt ?? null,
          Math.max(grant.expiresAt, code.expiresAt),
        ]);
        await statements.run(INSERT, toValues(code));
      });
    },
    async find(kind, id) {
      const row = await database.get<CredentialRow & GrantRow>(FIND, [id, kind]);
      return row && { credential: toCredential(row), grant: toGrant(row) };
    },
    async redeem({ kind, id }, { at, successor, sealedSuccessor, neededUntil = 0 }) {
      return database.transaction(async (statements): Promise<Redemption> => {
        // Of all who try at once, the database lets one change the row; the others wait here and then change none.
        const won = (await statements.run(SPEND, [at, sealedSuccessor ?? null, id, kind])) === 1;
        // Locks the grant, so that a revocation comes wholly before or wholly after.
        const spent = await statements.get<SpentRow>(`${FIND_SPENT}${database.dialect.forUpdate}`, [
          id,
          kind,
        ]);
        if (!spent) return { outcome: 'gone' };
        if (!won) {
          return {
            outcome: 'spent',
            consumedAt: Number(spent.consumed_at),
            sealedSuccessor: spent.sealed_successor ?? undefined,
          };
        }
        if (successor) await statements.run(INSERT, toValues(successor));
        const keepUntil = Math.max(neededUntil, successor?.expiresAt ?? 0);
        if (keepUntil > Number(spent.needed_until)) {
          await statements.run(KEEP_GRANT, [keepUntil, spent.grant_id]);
        }
        return { outcome: 'redeemed' };
      });
    },
  };
}

const INSERT_GRANT = `
  insert into gatehouse_grants
    (id, user_id, client_id, scopes, created_at, expires_at, revoked_at, needed_until)
  values (?, ?, ?, ?, ?, ?, ?, ?)`;

const INSERT = `
  insert into gatehouse_credentials (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor)
  values (?, ?, ?, ?, ?, ?, ?)`;

const WITH_LIVE_GRANT = `
  from gatehouse_credentials c join gatehouse_grants g on g.id = c.grant_id and g.revoked_at is null
  where c.id = ? and c.kind = ?`;

const FIND = `
  select c.id, c.kind, c.payload, c.expires_at, c.consumed_at, c.sealed_successor, ${GRANT_COLUMNS}
  ${WITH_LIVE_GRANT}`;

const SPEND = `
  update gatehouse_credentials set consumed_at = ?, sealed_successor = ?
  where id = ? and kind = ? and consumed_at is null`;

const FIND_SPENT = `
  select c.consumed_at, c.sealed_successor, g.id as grant_id, g.needed_until ${WITH_LIVE_GRANT}`;

const KEEP_GRANT = 'update gatehouse_grants set needed_until = ? where id = ?';

interface CredentialRow {
  readonly id: string;
  readonly kind: Credential['kind'];
  readonly payload: string;
  readonly expires_at: Integer;
  readonly consumed_at: Integer | null;
  readonly sealed_successor: string | null;
}

interface SpentRow {
  readonly consumed_at: Integer;
  readonly sealed_successor: string | null;
  readonly grant_id: string;
  readonly needed_until: Integer;
}

function toCredential(row: CredentialRow & GrantRow): Credential {
  return {
    kind: row.kind,
    id: row.id,
    grantId: row.grant_id,
    payload: toPayload(row.payload),
    expiresAt: Number(row.expires_at),
    consumedAt: toOptionalNumber(row.consumed_at),
    sealedSuccessor: row.sealed_successor ?? undefined,
  };
}

function toValues(credential: Credential): Value[] {
  return [
    credential.id,
    credential.kind,
    credential.grantId,
    JSON.stringify(credential.payload),
    credential.expiresAt,
    credential.consumedAt ?? null,
    credential.sealedSuccessor ?? null,
  ];
}
