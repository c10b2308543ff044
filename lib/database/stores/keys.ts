import type { KeyStore, StoredKey } from '../../contracts/index.ts';
import type { Database } from '../database.ts';
import { integer, mapRows, optional, text } from '../rows.ts';
import type { Row } from '../rows.ts';
import { CORE_TABLES } from '../tables.ts';

/** Signing and cookie keys of the server. */
export function keyStore(database: Database): KeyStore {
  return {
    async list(use) {
      return (await database.all<Row>(LIST, [use])).map(KEYS.read);
    },
    async insert(key) {
      return database.insertUnlessStored(KEYS.insert, KEYS.values(key));
    },
    async retire(id, retiresAt) {
      await database.run(RETIRE, [retiresAt, retiresAt, id]);
    },
    async replaceMaterial(id, from, to) {
      return (await database.run(REPLACE_MATERIAL, [to, id, from])) === 1;
    },
  };
}

const KEYS = mapRows<StoredKey>(CORE_TABLES.keys, {
  id: text('id'),
  use: text('purpose'),
  generation: integer('generation'),
  material: text('material'),
  createdAt: integer('created_at'),
  activeAt: integer('active_at'),
  retiresAt: optional(integer('retires_at')),
});

const LIST = `select ${KEYS.columns} from gatehouse_keys where purpose = ? order by generation`;

const RETIRE = `
  update gatehouse_keys set retires_at = case when retires_at < ? then retires_at else ? end where id = ?`;

const REPLACE_MATERIAL = 'update gatehouse_keys set material = ? where id = ? and material = ?';
