// @node-oauth/oauth2-server behind Koa, with opaque tokens that are stored as hashes.
import { createHash, timingSafeEqual } from 'node:crypto';

import OAuth2Server from '@node-oauth/oauth2-server';
import knex from 'knex';
import Koa from 'koa';
import { koaBody } from 'koa-body';

const { Request, Response } = OAuth2Server;
const YEAR = 31_536_000;
const GRANTS = ['client_credentials', 'authorization_code', 'refresh_token'];

/** @type {import('../server/peer.ts').StartPeer} */
export async function start({ file, isNew, clients, redirectUri }) {
  const database = knex({
    client: 'better-sqlite3',
    connection: { filename: file },
    useNullAsDefault: true,
  });
  // The same durability as that of this package.
  await database.raw('pragma journal_mode = wal');
  await database.raw('pragma synchronous = normal');
  if (isNew) await createTables(database, clients, redirectUri);
  const server = new OAuth2Server({
    model: modelOf(database),
    accessTokenLifetime: YEAR,
    refreshTokenLifetime: YEAR,
    // The session of the user is taken as given.
    authenticateHandler: { handle: () => ({ id: 'person-0' }) },
  });

  const app = new Koa();
  app.silent = true;
  app.use(koaBody()).use(async (ctx) => {
    const { headers, method, query } = ctx;
    const request = new Request({ method, headers, query, body: ctx.request.body ?? {} });
    const response = new Response({ headers: {} });
    try {
      if (ctx.path === '/oauth/token') await server.token(request, response);
      else await server.authorize(request, response);
    } catch (error) {
      response.status = error.code ?? 500;
      response.body = { error: error.name, error_description: error.message };
    }
    ctx.set(response.headers);
    ctx.status = response.status;
    if (ctx.status !== 302) ctx.body = response.body;
  });
  const answer = app.callback();
  return {
    listener: (request, response) => void answer(request, response),
    registered: { ...clients, opaque: true },
  };
}

async function createTables(database, { service, app }, redirectUri) {
  await database.schema.createTable('clients', (table) => {
    table.string('client_id').primary();
    table.string('secret_hash').notNullable();
    table.string('redirect_uri').notNullable();
  });
  await database.schema.createTable('tokens', (table) => {
    table.increments('id');
    table.string('access_hash').notNullable().unique();
    table.string('refresh_hash').unique();
    for (const name of ['access_expires', 'refresh_expires']) table.integer(name);
    for (const name of ['client_id', 'user_id', 'scope']) table.string(name);
  });
  await database.schema.createTable('codes', (table) => {
    table.string('code_hash').primary();
    table.integer('expires');
    for (const name of ['redirect_uri', 'challenge', 'challenge_method', 'client_id', 'user_id', 'scope'])
      table.string(name);
  });
  for (const { id, secret } of [service, app]) {
    const row = { client_id: id, secret_hash: hash(secret), redirect_uri: redirectUri };
    await database('clients').insert(row);
  }
}

/** The model that its documentation describes, with a query for each method. */
function modelOf(database) {
  const find = async (id) => database('clients').where({ client_id: id }).first();
  return {
    async getClient(id, secret) {
      const row = await find(id);
      if (!row) return undefined;
      if (secret && !timingSafeEqual(Buffer.from(hash(secret)), Buffer.from(row.secret_hash)))
        return undefined;
      return toClient(row);
    },
    getUserFromClient: ({ id }) => ({ id }),
    validateScope: (_user, _client, scope) => scope,
    async saveToken(token, client, user) {
      await database('tokens').insert({
        access_hash: hash(token.accessToken),
        access_expires: Number(token.accessTokenExpiresAt),
        refresh_hash: token.refreshToken ? hash(token.refreshToken) : null,
        refresh_expires: token.refreshTokenExpiresAt ? Number(token.refreshTokenExpiresAt) : null,
        client_id: client.id,
        user_id: user.id,
        scope: token.scope.join(' '),
      });
      return { ...token, client, user };
    },
    async getRefreshToken(refreshToken) {
      const row = await database('tokens')
        .where({ refresh_hash: hash(refreshToken) })
        .first();
      return (
        row && {
          refreshToken,
          refreshTokenExpiresAt: new Date(row.refresh_expires),
          scope: row.scope.split(' '),
          client: toClient(await find(row.client_id)),
          user: { id: row.user_id },
        }
      );
    },
    revokeToken: async ({ refreshToken }) =>
      database('tokens')
        .where({ refresh_hash: hash(refreshToken) })
        .del(),
    async saveAuthorizationCode(code, client, user) {
      await database('codes').insert({
        code_hash: hash(code.authorizationCode),
        expires: Number(code.expiresAt),
        redirect_uri: code.redirectUri,
        challenge: code.codeChallenge,
        challenge_method: code.codeChallengeMethod,
        client_id: client.id,
        user_id: user.id,
        scope: code.scope.join(' '),
      });
      return { ...code, client, user };
    },
    async getAuthorizationCode(authorizationCode) {
      const row = await database('codes')
        .where({ code_hash: hash(authorizationCode) })
        .first();
      return (
        row && {
          authorizationCode,
          expiresAt: new Date(row.expires),
          redirectUri: row.redirect_uri,
          scope: row.scope.split(' '),
          codeChallenge: row.challenge,
          codeChallengeMethod: row.challenge_method,
          client: toClient(await find(row.client_id)),
          user: { id: row.user_id },
        }
      );
    },
    revokeAuthorizationCode: async ({ authorizationCode }) =>
      database('codes')
        .where({ code_hash: hash(authorizationCode) })
        .del(),
  };
}

function toClient(row) {
  return { id: row.client_id, grants: GRANTS, redirectUris: [row.redirect_uri] };
}

function hash(value) {
  return createHash('sha256').update(value).digest('base64url');
}
