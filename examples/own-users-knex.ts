/**
 * A user store on your own table, with Knex and with passwords that are hashed by Node's scrypt.
 *
 * In a checkout, and copied into your project:
 *
 *     npx node --conditions=gatehouse:source examples/own-users-knex.ts
 *     node own-users-knex.ts
 */
import { once } from 'node:events';
import { randomBytes, randomUUID, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

import knex from 'knex';
import type { Knex } from 'knex';
import Koa from 'koa';
import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import type { AuthServer, User, UserStore } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { pages } from 'koa-gatehouse/interactions';

/** A row of the table `people`. */
interface Row {
  id: string;
  name: string;
  email: string;
  password_hash: string;
  role: string;
}

/** The users in the table `people`. */
export function knexUsers(database: Knex): UserStore {
  const people = (): Knex.QueryBuilder<Row> => database<Row>('people');
  // Compared with the password when the login is unknown, so that the response takes as long as for a wrong password.
  const dummyHash = hashPassword(randomUUID());

  return {
    async verifyPassword(login, password) {
      const row = await people().where({ email: login.trim().toLowerCase() }).first();
      const isRight = await isPassword(password, row?.password_hash ?? (await dummyHash));
      return row && isRight ? toUser(row) : undefined;
    },
    async find(id) {
      const row = await people().where({ id }).first();
      return row && toUser(row);
    },
    roles: async ({ id }) => people().where({ id }).pluck('role'),
  };
}

function toUser({ email, id, name }: Row): User {
  return { id, name, email };
}

export async function createPeopleTable(database: Knex): Promise<void> {
  await database.schema.createTable('people', (table) => {
    table.string('id').primary();
    table.string('name').notNullable();
    table.string('email').notNullable().unique();
    table.string('password_hash').notNullable();
    table.string('role').notNullable();
  });
}

export async function addPerson(
  database: Knex,
  { email, name, password, role }: { email: string; name: string; password: string; role: string },
): Promise<string> {
  const id = randomUUID();
  const row = { id, name, email: email.toLowerCase(), password_hash: await hashPassword(password), role };
  await database<Row>('people').insert(row);
  return id;
}

// About 16 MiB and 150 ms per hash, in a thread of Node's pool, so that the event loop is not blocked.
const derive = promisify((password: string, salt: Buffer, done: (error: Error | null, key: Buffer) => void) =>
  scrypt(password, salt, 32, { N: 2 ** 14, r: 8, p: 5 }, done),
);

async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt);
  return `${salt.toString('base64url')}.${key.toString('base64url')}`;
}

async function isPassword(password: string, hash: string): Promise<boolean> {
  const [salt = '', key = ''] = hash.split('.');
  const expected = Buffer.from(key, 'base64url');
  return timingSafeEqual(expected, await derive(password, Buffer.from(salt, 'base64url')));
}

const gate = defineGate({
  permissions: { view_schools: 'View schools', edit_schools: 'Edit schools' },
  roles: { teacher: ['view_schools'], registrar: ['view_schools', 'edit_schools'] },
});

/** Creates the app. Its own tables and those of the authorization server are in one database. */
export async function createSchool(
  issuer: string,
  database: Knex,
): Promise<{ app: Koa; auth: AuthServer<typeof gate> }> {
  const storage = knexStorage(database);
  await storage.migrate();
  const auth = await createAuthServer({
    issuer,
    users: knexUsers(database),
    storage,
    interactions: pages({ brand: { name: 'School' } }),
    gate,
  });
  const app = new Koa().use(auth.middleware());
  app.use(createApiRouter({ auth }).routes());
  return { app, auth };
}

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env['PORT'] ?? 3000);
  const issuer = `http://localhost:${port}`;
  const database = knex({
    client: 'better-sqlite3',
    connection: { filename: ':memory:' },
    useNullAsDefault: true,
  });
  await createPeopleTable(database);
  await addPerson(database, {
    name: 'Ann',
    email: 'ann@school.example',
    password: 'correct horse',
    role: 'registrar',
  });
  const { app } = await createSchool(issuer, database);
  await once(app.listen(port, '127.0.0.1'), 'listening');
  console.log(`Open ${issuer}/account/apps and sign in as ann@school.example, password: correct horse`);
}
