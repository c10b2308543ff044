import { toSeconds } from '../../contracts/duration.ts';
import { correctedTime, timeValues } from '../../database/clock.ts';
import type { Database } from '../../database/database.ts';
import { integer, json, mapRows, text, toOptionalNumber } from '../../database/rows.ts';
import type { Integer, Row } from '../../database/rows.ts';
import { PUSHED_REQUEST_TABLE } from './tables.ts';
import type { PushedRequest, PushedRequestStore } from './types.ts';

/** Pushed authorization requests. */
export function pushedRequestStore({ dialect: { clock }, get, run }: Database): PushedRequestStore {
  const { name } = PUSHED_REQUEST_TABLE;
  const time = correctedTime(clock);
  const insert = `insert into ${name} (${REQUESTS.columns}) values (?, ?, ${time}, ${time})`;
  const find = `select ${REQUESTS.columns}, ${clock} as clock from ${name} where id = ?`;
  return {
    async insert({ id, parameters, expiresAt, keptUntil }) {
      await run(insert, [id, JSON.stringify(parameters), ...timeValues(expiresAt), ...timeValues(keptUntil)]);
    },
    async find(id) {
      const row = await get<Row & { readonly clock: Integer | null }>(find, [id]);
      if (!row) return undefined;
      const { expiresAt, keptUntil, parameters } = REQUESTS.read(row);
      const at = Math.floor(toSeconds(toOptionalNumber(row.clock) ?? Date.now()));
      return { parameters, expiresIn: expiresAt - at, keptFor: keptUntil - at };
    },
  };
}

const REQUESTS = mapRows<PushedRequest>(PUSHED_REQUEST_TABLE, {
  id: text('id'),
  parameters: json('parameters'),
  expiresAt: integer('expires_at'),
  keptUntil: integer('kept_until'),
});
