import type { Knex } from 'knex';
import {
  createAdministration,
  laravelPassport as passportFeature,
  laravelPassportSource,
} from 'koa-gatehouse';
import type { AuthServerOptions, Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { TestDatabase } from '../adapters/databases.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Mounting, Platform, TokenAnswer } from '../harness/platform.ts';
import { APP_KEY, CLIENTS, connectLaravel, createTables, insertVectors, SECRET, vectors } from './laravel.ts';
import type { PassportVersion } from './laravel.ts';
import type { LaravelPassportSource } from '../../lib/features/laravel-passport/types.ts';

/** The code with which the API refuses a token; `undefined`: it accepts it. */
export async function codeOf(platform: Platform, token: string): Promise<unknown> {
  return (await platform.api('/identity', token)).body['code'];
}

/** The tables of Passport with the tokens of the vectors, and their client. */
export interface Laravel extends AsyncDisposable {
  readonly database: Knex;
  readonly clientId: string;
  readonly source: LaravelPassportSource;
}

export async function startLaravel(
  version: PassportVersion,
  {
    address = `sqlite:${temporaryFile('laravel.sqlite')}`,
    client = 'better-sqlite3',
    options = {},
  }: {
    address?: string;
    client?: TestDatabase['client'];
    options?: Parameters<typeof laravelPassportSource>[1];
  } = {},
): Promise<Laravel> {
  const database = connectLaravel(client, address);
  await createTables(database, version, options.prefix);
  await insertVectors(database, version, options.prefix);
  return {
    database,
    clientId: CLIENTS[version],
    source: laravelPassportSource(database, options),
    async [Symbol.asyncDispose]() {
      await database.destroy();
    },
  };
}

export const scopes: AuthServerOptions<'edit_schools' | 'view_schools'>['scopes'] = {
  'orders:read': { description: 'See schools', permissions: ['view_schools'] },
  'orders:write': { description: 'Edit schools', permissions: ['edit_schools'] },
};

/** A platform that has moved in: the client is imported, and the users have the ids that they have in Laravel. */
export async function moveIn(
  laravel: Laravel,
  {
    grantType = 'authorization_code',
    mounting,
    passport,
    storage,
    ...given
  }: {
    grantType?: 'authorization_code' | 'device_code';
    mounting?: Mounting;
    passport?: Partial<Parameters<typeof passportFeature>[0]>;
    storage?: Storage;
  } & NonNullable<Parameters<typeof startPlatform>[0]> = {},
): Promise<Platform> {
  const own = storage ?? knexStorage(`sqlite:${temporaryFile()}`);
  await own.migrate();
  const administration = createAdministration({ storage: { ...own, close: async () => {} } });
  await administration.importClient({
    id: laravel.clientId,
    name: 'Demo',
    grantType,
    redirectUris: grantType === 'authorization_code' ? ['https://client.example/cb'] : [],
    secret: { value: SECRET },
  });
  await administration.close();
  const platform = await startPlatform(
    {
      storage: own,
      scopes,
      tokens: { revocationLag: 1 },
      ...given,
      features: [
        ...(given.features ?? []),
        passportFeature({
          publicKey: vectors.rsa_public_key_pem,
          appKey: [APP_KEY, 'base64:rkSKyGxOjk3sZFcpcI70GHOuecbf+E7/czYJiUh/COU='],
          source: laravel.source,
          until: '2119-12-31',
          ...passport,
        }),
      ],
    },
    mounting,
  );
  const ids = ['7', '42', '0192a7b4-6c1e-7a10-9d33-5b2f4c8e1a01'];
  for (const id of ids)
    platform.users.all.push({
      id,
      name: `User ${id}`,
      email: `${id}@school.example`,
      password: `password of ${id}`,
      permissions: ['view_schools', 'edit_schools'],
    });
  return platform;
}

export const REFUSED = { status: 400, body: { error: 'invalid_grant' } } as const;

/** Sends a refresh token of the client to the token endpoint. */
export async function refresh(
  platform: Platform,
  { clientId }: Laravel,
  token: string,
  more: object = {},
): Promise<TokenAnswer> {
  const client = { client_id: clientId, client_secret: SECRET };
  return platform.token({ grant_type: 'refresh_token', ...client, refresh_token: token, ...more });
}
