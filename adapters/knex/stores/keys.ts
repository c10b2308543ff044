import type { KeyStore, StoredKey } from '../../../lib/contracts/index.ts';
import type { Database } from '../database.ts';
import { toOptionalNumber } from './column-values.ts';
import type { Integer } from './column-values.ts';
import { insertUnlessStored } from './insert-unless-stored.ts';

/** Signing and cookie keys of the server. */
export function keyStore(database: Database): KeyStore {
  return {
    async list(use) {
      return (await database.all<KeyRow>(LIST, [use])).map(toKey);
    },
    async insert({ id, use, generation, material, createdAt, activeAt, retiresAt }) {
      const values = [id, use, generation, material, createdAt, activeAt, retiresAt ?? null];
      return insertUnlessStored(database, INSERT, values);
    },
    async retire(id, retiresAt) {
      await database.run(RETIRE, [retiresAt, retiresAt, id]);
    },
    async replaceMaterial(id, from, to) {
      return (await database.run(REPLACE_MATERIAL, [to, id, from])) === 1;
    },
  };
}

const LIST = `
  select id, purpose, generation, material, created_at, active_at, retires_at
  from gatehouse_keys where purpose = ? order by generation`;

const INSERT = `
  insert into gatehouse_keys (id, purpose, generation, material, created_at, active_at, retires_at)
  values (?, ?, ?, ?, ?, ?, ?)`;

const RETIRE = `
  update gatehouse_keys set retires_at = case when retires_at < ? then retires_at else ? end where id = ?`;

const REPLACE_MATERIAL = 'update gatehouse_keys set material = ? where id = ? and material = ?';

interface KeyRow {
  readonly id: string;
  readonly purpose: StoredKey['use'];
  readonly generation: Integer;
  readonly material: string;
  readonly created_at: Integer;
  readonly active_at: Integer;
  readonly retires_at: Integer | null;
}

function toKey(row: KeyRow): StoredKey {
  return {
    id: row.id,
    use: row.purpose,
    generation: Number(row.generation),
    material: row.material,
    createdAt: Number(row.created_at),
    activeAt: Number(row.active_at),
    retiresAt: toOptionalNumber(row.retires_at),
  };
}
