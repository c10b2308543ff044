import { integer, isStorable, json, mapRows, optional, text, toStrings } from '../../database/rows.ts';
import type { Integer, Row } from '../../database/rows.ts';
import type { Database } from '../../database/database.ts';
import { notEnded, UNLESS_USER_ENDED } from '../../database/ends.ts';
import { PERSONAL_TOKEN_TABLE } from './tables.ts';
import { KEPT_NETWORKS } from './types.ts';
import type { NewPersonalTokenRow, PersonalToken, PersonalTokenStore, PersonalTokenUse } from './types.ts';

const TABLE = PERSONAL_TOKEN_TABLE.name;

/** Personal access tokens. */
export function personalTokenStore(database: Database): PersonalTokenStore {
  const { forUpdate } = database.dialect;
  const insert = `${NEW_TOKENS.insertFor('place')} ${UNLESS_USER_ENDED}`;

  async function find(sql: string, value: string): Promise<PersonalToken | undefined> {
    const row = isStorable(value) ? await database.get<Row>(sql, [value]) : undefined;
    return row && TOKENS.read(row);
  }

  return {
    async insert(token, { limit, now }) {
      await database.run(DELETE_USELESS, [token.userId, now]);
      const { sequence, userId } = token;
      const values = NEW_TOKENS.values(token);
      // An insert that finds its place taken by another insert under way looks for another place.
      for (let attempt = 0; attempt < 2 * limit; attempt += 1) {
        // The user was ended: a token would be of no use, like a token that was inserted before the end.
        if (!(await database.get(`select 1 as live ${UNLESS_USER_ENDED}`, [userId, sequence]))) return true;
        const rows = await database.all<{ place: Integer }>(SELECT_PLACES, [userId]);
        if (rows.length >= limit) return false;
        const taken = new Set(rows.map(({ place }) => Number(place)));
        const free = Array.from({ length: limit }, (_, place) => place).filter((place) => !taken.has(place));
        // A random free place, so that concurrent inserts rarely choose the same one.
        const place = free[Math.floor(Math.random() * free.length)]!;
        if (await database.insertUnlessStored(insert, [...values, place, userId, sequence])) return true;
      }
      return false;
    },
    findByHash: async (hash) => find(FIND_BY_HASH, hash),
    find: async (id) => find(FIND, id),
    async list(userId, now) {
      if (!isStorable(userId)) return [];
      return (await database.all<Row>(LIST, [userId, now])).map(TOKENS.read);
    },
    async delete(id) {
      return isStorable(id) && (await database.run(`delete from ${TABLE} where id = ?`, [id])) > 0;
    },
    async recordUse(id, use) {
      return database.transaction(async (statements) => {
        const row = await statements.get<UseRow>(`${FIND_USE}${forUpdate}`, [id]);
        if (!row) return false;
        const { isNew, networks } = withNetwork(toStrings(row.networks ?? '[]'), use);
        const isLatest = use.at >= Number(row.last_used_at ?? 0);
        if (isLatest || isNew) {
          const latest = isLatest ? [use.at, use.address] : [row.last_used_at, row.last_used_from];
          await statements.run(RECORD_USE, [...latest, JSON.stringify(networks), id]);
        }
        return isNew;
      });
    },
  };
}

/** The networks of a token after a use. */
function withNetwork(
  networks: readonly string[],
  { network }: PersonalTokenUse,
): { readonly isNew: boolean; readonly networks: readonly string[] } {
  if (networks.includes(network)) return { isNew: false, networks };
  return { isNew: true, networks: [...networks, network].slice(-KEPT_NETWORKS) };
}

const COMMON = {
  id: text('id'),
  userId: text('user_id'),
  name: text('name'),
  resource: optional(text('resource')),
  scopes: optional(json<readonly string[]>('scopes')),
  permissions: optional(json<readonly string[]>('permissions')),
  createdAt: integer('created_at'),
  expiresAt: integer('expires_at'),
} as const;

const NEW_TOKENS = mapRows<NewPersonalTokenRow>(PERSONAL_TOKEN_TABLE, {
  ...COMMON,
  hash: text('hash'),
  sequence: integer('sequence'),
});

const TOKENS = mapRows<PersonalToken>(PERSONAL_TOKEN_TABLE, {
  ...COMMON,
  lastUsedAt: optional(integer('last_used_at')),
  lastUsedFrom: optional(text('last_used_from')),
});

const IS_LIVE = notEnded('t', ['user', 'all']);
const SELECT = `select ${TOKENS.of('t').columns} from ${TABLE} t`;
const FIND = `${SELECT} where t.id = ? and ${IS_LIVE}`;
const FIND_BY_HASH = `${SELECT} where t.hash = ? and ${IS_LIVE}`;
const LIST = `${SELECT} where t.user_id = ? and t.expires_at > ? and ${IS_LIVE} order by t.created_at desc, t.id`;

// The primary key is the user and a place: among any number of concurrent inserts, the database gives a place to only one.
const SELECT_PLACES = `select place from ${TABLE} where user_id = ?`;
const DELETE_USELESS = `
  delete from ${TABLE} where user_id = ? and (expires_at <= ? or not (${notEnded(TABLE, ['user', 'all'])}))`;

interface UseRow {
  readonly networks: string | null;
  readonly last_used_at: Integer | null;
  readonly last_used_from: string | null;
}

const FIND_USE = `select networks, last_used_at, last_used_from from ${TABLE} where id = ?`;
const RECORD_USE = `update ${TABLE} set last_used_at = ?, last_used_from = ?, networks = ? where id = ?`;
