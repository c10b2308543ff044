import type { Milliseconds } from '../../../contracts/index.ts';
import type { LaravelPassportSource, PassportTokenCount } from '../types.ts';
import { listIn, textIn, timeIn } from './tables.ts';
import type { PassportRow, PassportTables } from './tables.ts';

// Each statement reads a whole table, which has no index for it.
const TIMEOUT: Milliseconds = 60_000;

/** The numbers of live tokens in the tables of Passport. */
export function passportCounts({
  columns,
  knex,
  names,
  run,
}: PassportTables): Pick<LaravelPassportSource, 'countTokens' | 'liveScopes'> {
  const textType = knex.client.driverName === 'mysql2' ? 'char' : 'text';
  const clientText = knex.raw(`cast(a.client_id as ${textType}) as client_id_text`);
  const lastText = (table: 'a' | 'r') =>
    knex.raw('cast(max(??) as char(19)) as last_text', [`${table}.expires_at`]);
  const kind = `case when a.user_id is null then 'client' when a.name is null or a.name = '' then 'user' else 'personal' end`;

  return {
    async countTokens() {
      for (const table of ['accessTokens', 'refreshTokens'] as const) await columns(table);
      const at = dateTime();
      const access: readonly PassportRow[] = await run(
        () =>
          knex({ a: names.accessTokens })
            .select(clientText, knex.raw(`${kind} as kind`), lastText('a'))
            .count({ count: '*' })
            .where('a.revoked', false)
            .where('a.expires_at', '>', at)
            .groupBy('a.client_id', knex.raw(kind)),
        TIMEOUT,
      );
      // A refresh token is live even when its access token was purged; only the token itself then says whose it is.
      const refresh: readonly PassportRow[] = await run(
        () =>
          knex({ r: names.refreshTokens })
            .leftJoin({ a: names.accessTokens }, 'a.id', 'r.access_token_id')
            .select(clientText, knex.raw(`'refresh' as kind`), lastText('r'))
            .count({ count: '*' })
            .where('r.revoked', false)
            .where('r.expires_at', '>', at)
            .groupBy('a.client_id'),
        TIMEOUT,
      );
      return [...access, ...refresh].map((row) => ({
        clientId: textIn(row['client_id_text']),
        kind: String(row['kind']) as PassportTokenCount['kind'],
        count: Number(row['count']),
        lastEnd: timeIn(row['last_text']) ?? 0,
      }));
    },
    async liveScopes() {
      await columns('accessTokens');
      const rows: readonly PassportRow[] = await run(
        () =>
          knex(names.accessTokens)
            .distinct('scopes')
            .where('revoked', false)
            .where('expires_at', '>', dateTime()),
        TIMEOUT,
      );
      const scopes = new Set(rows.flatMap((row) => listIn(row['scopes']) ?? []));
      return [...scopes].toSorted();
    },
  };
}

/** The time as Laravel stores it. */
function dateTime(): string {
  return new Date().toISOString().slice(0, 19).replace('T', ' ');
}
