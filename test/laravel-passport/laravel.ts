/** The database of a Laravel app as the migrations of Passport make it, and tokens in the formats of its libraries. */
import {
  createCipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  hkdfSync,
  pbkdf2Sync,
  randomBytes,
  sign,
} from 'node:crypto';
import { readFileSync } from 'node:fs';

import knex from 'knex';
import type { Knex } from 'knex';

/** Tokens that the PHP libraries have made; see the description in the file. */
export const vectors: Vectors = JSON.parse(
  readFileSync(new URL('vectors.json', import.meta.url), 'utf8'),
) as Vectors;

interface Vectors {
  readonly rsa_public_key_pem: string;
  readonly rsa_private_key_pem: string;
  readonly tokens: readonly Vector[];
}

/** An access token, and its refresh token if it has one. */
export interface Vector {
  readonly name: string;
  /** That of the tables that can have the id of its client. */
  readonly version: PassportVersion;
  /** `null`: a token of the client for itself. */
  readonly user_id: string | null;
  readonly scopes: readonly string[];
  readonly access_ended?: true;
  readonly access_token: string;
  readonly refresh_ended?: true;
  readonly refresh_token?: string;
  readonly refresh_token_id?: string;
  readonly refresh_ends?: string;
  /** @default APP_KEY */
  readonly app_key?: string;
}

export type Row = Readonly<Record<string, unknown>>;

/** The columns differ between these: ids of clients are numbers in 8 and 11, and UUIDs in the others. */
export type PassportVersion = '8' | '11' | '12 with UUIDs' | '13';

export const VERSIONS: readonly PassportVersion[] = ['8', '11', '12 with UUIDs', '13'];

export const APP_KEY = 'base64:695zEiigUJywm6N7bYJTSppnNRqoNKqh06WAC58GAp4=';

/** Connects to a database; SQLite by the name of a file. */
export function connectLaravel(client: 'better-sqlite3' | 'pg' | 'mysql2', address: string): Knex {
  const connection = client === 'better-sqlite3' ? { filename: address.replace('sqlite:', '') } : address;
  const pool = { min: 0, max: client === 'better-sqlite3' ? 1 : 5 };
  return knex({ client, connection, pool, useNullAsDefault: true });
}

/** Creates the tables, dropping those of a test before. */
export async function createTables(database: Knex, version: PassportVersion, prefix = ''): Promise<void> {
  const hasUuids = version === '12 with UUIDs' || version === '13';
  const length = version === '13' ? 80 : 100;
  for (const table of ['oauth_clients', 'oauth_access_tokens', 'oauth_refresh_tokens'])
    await database.schema.dropTableIfExists(prefix + table);
  await database.schema.createTable(`${prefix}oauth_clients`, (table) => {
    if (hasUuids) table.uuid('id').primary();
    else if (version === '8') table.increments('id');
    else table.bigIncrements('id');
    if (version === '13') {
      table.string('owner_type').nullable();
      table.bigInteger('owner_id').nullable();
    } else table.bigInteger('user_id').nullable();
    table.string('name').notNullable();
    table.string('secret', version === '13' ? 255 : 100).nullable();
    if (version !== '8') table.string('provider').nullable();
    if (version === '13') {
      table.text('redirect_uris').notNullable();
      table.text('grant_types').notNullable();
    } else {
      table.text('redirect').notNullable();
      table.boolean('personal_access_client').notNullable();
      table.boolean('password_client').notNullable();
    }
    table.boolean('revoked').notNullable();
    table.timestamps(false);
  });
  await database.schema.createTable(`${prefix}oauth_access_tokens`, (table) => {
    if (version === '13') table.specificType('id', 'char(80)').primary();
    else table.string('id', length).primary();
    // An app whose users have UUIDs has changed the type itself.
    if (version === '12 with UUIDs') table.string('user_id', 36).nullable().index();
    else table.bigInteger('user_id').nullable().index();
    if (hasUuids) table.uuid('client_id').notNullable();
    else if (version === '8') table.integer('client_id').notNullable();
    else table.bigInteger('client_id').notNullable();
    table.string('name').nullable();
    table.text('scopes').nullable();
    table.boolean('revoked').notNullable();
    table.dateTime('created_at', { useTz: false, precision: 0 }).nullable();
    table.dateTime('updated_at', { useTz: false, precision: 0 }).nullable();
    table.dateTime('expires_at', { useTz: false, precision: 0 }).nullable();
  });
  await database.schema.createTable(`${prefix}oauth_refresh_tokens`, (table) => {
    if (version === '13') table.specificType('id', 'char(80)').primary();
    else table.string('id', length).primary();
    table.string('access_token_id', length).notNullable();
    table.boolean('revoked').notNullable();
    table.dateTime('expires_at', { useTz: false, precision: 0 }).nullable();
  });
}

/** The clients of the vectors, by the version of the tables that can have their ids. */
export const CLIENTS: Readonly<Record<PassportVersion, string>> = {
  '8': '3',
  '11': '7',
  '12 with UUIDs': '9b1f6f0e-2c4d-4e8b-9a57-0d1c2b3a4f55',
  '13': '0194688c-7d2a-72f1-8b0e-3f6a5d9c1e02',
};

export const SECRET = '8wT2kVbQmXr5LzN0cYhJdPfGsAeUi9o1R4tq6B3x';

/** Fills the tables with the client of a version, and with the rows of its tokens in the vectors. */
export async function insertVectors(database: Knex, version: PassportVersion, prefix = ''): Promise<void> {
  await database(`${prefix}oauth_clients`).insert(clientRow(version));
  for (const vector of vectorsOf(version)) {
    const { exp, iat, jti } = claimsOf(vector.access_token);
    const [issuedAt, expiresAt] = [iat, exp].map((time) => Math.floor(Number(time))) as [number, number];
    const { scopes, user_id: userId } = vector;
    await database(`${prefix}oauth_access_tokens`).insert(
      rowOfAccess({ id: jti, clientId: CLIENTS[version], userId, scopes, issuedAt, expiresAt }),
    );
    const { refresh_ends: ends, refresh_token_id: id } = vector;
    if (id !== undefined)
      await database(`${prefix}oauth_refresh_tokens`).insert({
        id,
        access_token_id: jti,
        revoked: false,
        expires_at: ends,
      });
  }
}

export const vectorsOf = (version: PassportVersion): readonly Vector[] =>
  vectors.tokens.filter((one) => one.version === version);

/** What an access token says. */
export function claimsOf(token: string): {
  readonly jti: string;
  readonly iat: number | string;
  readonly exp: number | string;
} {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as ReturnType<typeof claimsOf>;
}

function clientRow(version: PassportVersion): Row {
  const fields = { id: CLIENTS[version], name: 'Demo', secret: SECRET };
  const redirect = 'https://client.example/cb';
  if (version === '13')
    return row13({
      ...fields,
      redirect_uris: [redirect],
      grant_types: ['authorization_code', 'refresh_token'],
    });
  const { provider: _none, ...row8 } = row12({ ...fields, redirect });
  return version === '8' ? row8 : { ...row8, provider: version === '11' ? 'users' : null };
}

/** A row of `oauth_clients` until version 12, as created by `passport:client`. */
export function row12(fields: Row): Row {
  return {
    user_id: null,
    secret: null,
    provider: null,
    redirect: '',
    personal_access_client: false,
    password_client: false,
    revoked: false,
    created_at: '2021-03-04 05:06:07',
    updated_at: '2021-03-04 05:06:07',
    ...fields,
  };
}

/** A row of version 13; lists are JSON. */
export function row13({ redirect_uris: uris = [], grant_types: grants, ...fields }: Row): Row {
  return {
    owner_type: null,
    owner_id: null,
    secret: null,
    provider: null,
    redirect_uris: JSON.stringify(uris),
    grant_types: JSON.stringify(grants),
    revoked: false,
    created_at: '2025-03-04 05:06:07',
    updated_at: '2025-03-04 05:06:07',
    ...fields,
  };
}

const PRIVATE_KEY = createPrivateKey(vectors.rsa_private_key_pem);

/** An access token with these claims, as lcobucci/jwt writes it. */
export function signPassport(claims: object, header: object = { typ: 'JWT', alg: 'RS256' }): string {
  const text = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), PRIVATE_KEY).toString('base64url')}`;
}

const PASSWORD = createHash('sha256')
  .update(Buffer.from(APP_KEY.replace('base64:', ''), 'base64'))
  .digest();

/** Another one for each process, where Passport has one for each token: deriving the key takes most of the time. */
const salt = randomBytes(32);
const encryptionKey = pbkdf2Sync(PASSWORD, salt, 100_000, 32, 'sha256');

/** A payload, encrypted as defuse/php-encryption does it with a password. */
function encryptPassport(payload: object): string {
  const derive = (info: string): Buffer => Buffer.from(hkdfSync('sha256', encryptionKey, salt, info, 32));
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-ctr', derive('DefusePHP|V2|KeyForEncryption'), iv);
  const encrypted = Buffer.concat([cipher.update(JSON.stringify(payload)), cipher.final()]);
  const message = Buffer.concat([Buffer.from('def50200', 'hex'), salt, iv, encrypted]);
  const mac = createHmac('sha256', derive('DefusePHP|V2|KeyForAuthentication')).update(message).digest();
  return Buffer.concat([message, mac]).toString('hex');
}

/** What a token is issued for. */
export interface Issued {
  readonly clientId: string | number;
  readonly userId?: string | number | null;
  readonly scopes?: readonly string[];
  readonly name?: string | undefined;
  readonly issuedAt?: number;
  readonly expiresIn?: number;
  /** @default that of the access token */
  readonly refreshExpiresIn?: number;
}

/** The rows of an access token and its refresh token, and how to make their texts, which takes much longer. */
export interface MadeTokens {
  readonly id: string;
  readonly refreshId: string;
  readonly accessRow: Row;
  /** `undefined`: a token of the client for itself has none. */
  readonly refreshRow: Row | undefined;
  readonly accessToken: () => string;
  readonly refreshToken: () => string;
}

export function makeTokens({
  clientId,
  expiresIn = 86_400,
  issuedAt = Math.floor(Date.now() / 1000),
  name,
  refreshExpiresIn = expiresIn,
  scopes = [],
  userId = null,
}: Issued): MadeTokens {
  const [id, refreshId] = [randomBytes(40).toString('hex'), randomBytes(40).toString('hex')];
  const expiresAt = issuedAt + expiresIn;
  const refreshExpiresAt = issuedAt + refreshExpiresIn;
  const iat = issuedAt + 0.123_456;
  return {
    id,
    refreshId,
    accessRow: rowOfAccess({ id, clientId, userId, name, scopes, issuedAt, expiresAt }),
    refreshRow:
      userId === null
        ? undefined
        : { id: refreshId, access_token_id: id, revoked: false, expires_at: dateTime(refreshExpiresAt) },
    accessToken: () =>
      signPassport({
        aud: String(clientId),
        jti: id,
        iat,
        nbf: iat,
        exp: expiresAt + 0.123_451,
        sub: String(userId ?? ''),
        scopes,
      }),
    refreshToken: () =>
      encryptPassport({
        client_id: String(clientId),
        refresh_token_id: refreshId,
        access_token_id: id,
        scopes,
        user_id: userId,
        expire_time: refreshExpiresAt,
      }),
  };
}

function rowOfAccess({
  clientId,
  expiresAt,
  id,
  issuedAt,
  name,
  scopes,
  userId,
}: Pick<Issued, 'clientId' | 'userId' | 'name' | 'scopes'> & {
  readonly id: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
}): Row {
  return {
    id,
    user_id: userId,
    client_id: clientId,
    name: name ?? null,
    scopes: JSON.stringify(scopes),
    revoked: false,
    created_at: dateTime(issuedAt),
    updated_at: dateTime(issuedAt),
    expires_at: dateTime(expiresAt),
  };
}

/** Issues an access token and its refresh token as Passport does, with their rows. */
export async function issue(
  database: Knex,
  issued: Issued,
  prefix = '',
): Promise<{
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly id: string;
  readonly refreshId: string;
}> {
  const { accessRow, accessToken, id, refreshId, refreshRow, refreshToken } = makeTokens(issued);
  await database(`${prefix}oauth_access_tokens`).insert(accessRow);
  if (refreshRow) await database(`${prefix}oauth_refresh_tokens`).insert(refreshRow);
  return { accessToken: accessToken(), refreshToken: refreshToken(), id, refreshId };
}

function dateTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
}
