import type { Knex } from 'knex';

import { now } from '../../../contracts/clock.ts';
import type { Seconds } from '../../../contracts/index.ts';
import type {
  PassportAccessToken,
  PassportClient,
  PassportAuthorization,
  LaravelPassportSource,
} from '../types.ts';
import { StorageError } from '../../../errors.ts';
import { flagIn, isOfType, listIn, textIn, timeIn } from './tables.ts';
import type { PassportRow, PassportTable, PassportTables } from './tables.ts';

// The largest difference between UTC and a time without its zone.
const LARGEST_OFFSET: Seconds = 14 * 3600;

// The ids in a list of a statement.
const BATCH = 500;

/** The tokens in the tables of Passport. */
export function passportTokens({
  columns,
  findClient,
  isReadOnly,
  knex,
  names,
  provider,
  run,
}: PassportTables): Pick<
  LaravelPassportSource,
  | 'check'
  | 'authorizations'
  | 'findAccessToken'
  | 'findRefreshToken'
  | 'redeemRefreshToken'
  | 'revoke'
  | 'setClientRevoked'
> {
  const textType = knex.client.driverName === 'mysql2' ? 'char' : 'text';
  // As text, because JavaScript has no exact number for an id of more than 53 bits.
  const idText = (column: string): Knex.Raw =>
    knex.raw(`cast(?? as ${textType}) as ??`, [column, `${column}_text`]);
  const createdText = knex.raw('cast(created_at as char(19)) as created_text');

  function isUsable(client: PassportClient | undefined): boolean {
    return client !== undefined && !client.revoked && isOfProvider(client);
  }

  function isOfProvider(client: Pick<PassportClient, 'provider'>): boolean {
    return client.provider === undefined || client.provider === provider;
  }

  async function hasType(table: PassportTable, column: string, id: string): Promise<boolean> {
    const { [column]: type = '' } = await columns(table);
    return isOfType(id, type);
  }

  /** The ids of the access tokens of a user, a client or both, revoked ones too: a refresh token may be live without its access token. */
  async function findIds(of: {
    userId?: string | undefined;
    clientId?: string | undefined;
  }): Promise<string[]> {
    const { clientId, userId } = of;
    if (userId !== undefined && !(await hasType('accessTokens', 'user_id', userId))) return [];
    if (clientId !== undefined && !(await hasType('accessTokens', 'client_id', clientId))) return [];
    const rows: readonly PassportRow[] = await run(() =>
      knex(names.accessTokens)
        .select('id', idText('client_id'))
        .where({
          ...(userId !== undefined && { user_id: userId }),
          ...(clientId !== undefined && { client_id: clientId }),
        }),
    );
    const foreign = new Set<string>();
    if (userId !== undefined && 'provider' in (await columns('clients'))) {
      // A user of another provider may have the same id.
      const clients: readonly PassportRow[] = await run(() =>
        knex(names.clients)
          .select(idText('id'))
          .whereNotNull('provider')
          .whereNotIn('provider', ['', provider]),
      );
      for (const client of clients) foreign.add(String(client['id_text']));
    }
    return rows.filter((row) => !foreign.has(String(row['client_id_text']))).map((row) => String(row['id']));
  }

  async function markRevoked(
    table: 'accessTokens' | 'refreshTokens',
    by: Knex.DbRecord<object>,
  ): Promise<number> {
    return run(() => knex(names[table]).where(by).where('revoked', false).update({ revoked: true }));
  }

  async function markFamilies(accessTokenIds: readonly string[]): Promise<void> {
    for (let at = 0; at < accessTokenIds.length; at += BATCH) {
      const ids = accessTokenIds.slice(at, at + BATCH);
      // The refresh tokens first, because with a refresh token the app would issue another access token.
      for (const [table, column] of [
        ['refreshTokens', 'access_token_id'],
        ['accessTokens', 'id'],
      ] as const)
        await run(() =>
          knex(names[table]).whereIn(column, ids).where('revoked', false).update({ revoked: true }),
        );
    }
  }

  return {
    async check() {
      for (const table of ['clients', 'accessTokens', 'refreshTokens'] as const) await columns(table);
      // The columns are read once, and the tables may be gone since.
      for (const table of Object.values(names)) await run(() => knex(table).select('id').limit(1));
      if (isReadOnly) return { writable: false };
      try {
        // Changes nothing, and needs the privileges of a change.
        for (const table of Object.values(names))
          await run(() => knex(table).whereRaw('1 = 0').update({ revoked: true }));
        return { writable: true };
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        return { writable: false };
      }
    },
    async findAccessToken(id): Promise<PassportAccessToken | undefined> {
      await columns('accessTokens');
      const [row]: readonly PassportRow[] = await run(() =>
        knex(names.accessTokens)
          .select('name', 'revoked', idText('client_id'), idText('user_id'))
          .where({ id })
          .limit(1),
      );
      if (!row) return undefined;
      const clientId = textIn(row['client_id_text']) ?? '';
      const client = await findClient(clientId);
      return {
        clientId,
        userId: textIn(row['user_id_text']),
        isPersonal: textIn(row['name']) !== undefined,
        isLive: !flagIn(row['revoked']) && isUsable(client),
      };
    },
    async findRefreshToken(id, clientId) {
      const [row]: readonly PassportRow[] = await run(() =>
        knex(names.refreshTokens).select('access_token_id', 'revoked').where({ id }).limit(1),
      );
      if (!row) return undefined;
      const [accessToken]: readonly PassportRow[] = await run(() =>
        knex(names.accessTokens).select(createdText).where('id', String(row['access_token_id'])).limit(1),
      );
      const created = timeIn(accessToken?.['created_text']);
      return {
        isLive: !flagIn(row['revoked']) && isUsable(await findClient(clientId)),
        issuedAfter: created === undefined ? undefined : created - LARGEST_OFFSET,
      };
    },
    async authorizations(userId, clientId): Promise<readonly PassportAuthorization[]> {
      if (!(await hasType('accessTokens', 'user_id', userId))) return [];
      if (clientId !== undefined && !(await hasType('accessTokens', 'client_id', clientId))) return [];
      const rows: readonly PassportRow[] = await run(() =>
        knex(names.accessTokens)
          .select(
            idText('client_id'),
            'scopes',
            knex.raw('cast(min(created_at) as char(19)) as created_text'),
          )
          .where({ user_id: userId, revoked: false, ...(clientId !== undefined && { client_id: clientId }) })
          .groupBy('client_id', 'scopes'),
      );
      const byClient = Map.groupBy(rows, (row) => String(row['client_id_text']));
      const found: PassportAuthorization[] = [];
      for (const [id, ofClient] of byClient) {
        if (!isUsable(await findClient(id))) continue;
        found.push({
          clientId: id,
          scopes: ofClient.map((row) => listIn(row['scopes']) ?? []),
          since: Math.min(...ofClient.map((row) => timeIn(row['created_text']) ?? now())),
        });
      }
      return found;
    },
    async redeemRefreshToken(id, accessTokenId) {
      await markRevoked('accessTokens', { id: accessTokenId });
      return (await markRevoked('refreshTokens', { id })) === 1;
    },
    async revoke(selector) {
      if ('accessTokenId' in selector) await markFamilies([selector.accessTokenId]);
      else await markFamilies(await findIds(selector));
    },
    async setClientRevoked(id, revoked) {
      if (!(await hasType('clients', 'id', id))) return;
      await run(() => knex(names.clients).where({ id }).update({ revoked }));
    },
  };
}
