import { openid, createAuthServer, defineGate } from 'koa-gatehouse';
import type { AuthServer, OpenIdOptions, Storage, User } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { pages } from 'koa-gatehouse/interactions';

import { REDIRECT_URI, SCOPE } from '../protocol.ts';
import type { Job, Registered } from '../protocol.ts';

const gate = defineGate({ permissions: { view_schools: 'View schools', edit_schools: 'Edit schools' } });

export type Permission = 'view_schools' | 'edit_schools';

/** This package as in production: with a database and without options that weaken it. */
export async function startAuthServer(
  origin: string,
  { database, registered }: Job,
  signIn?: OpenIdOptions,
): Promise<{ auth: AuthServer<typeof gate>; registered: Registered; countStatements: () => number }> {
  let statements = 0;
  const storage = await open(database!, () => {
    statements += 1;
  });
  if (!registered) await storage.migrate();
  const auth = await createAuthServer({
    issuer: origin,
    users: {
      verifyPassword: person,
      find: person,
      permissions: async () => ['view_schools'],
    },
    storage,
    interactions: pages({ brand: { name: 'Acme Schools' } }),
    gate,
    secrets: { keyEncryptionKey: 'a key-encryption key for the benchmark only' },
    features: signIn ? [openid(signIn)] : [],
    scopes: { [SCOPE]: { description: 'Your schools', permissions: ['view_schools', 'edit_schools'] } },
  });
  return {
    auth,
    registered: registered ?? (await register(auth)),
    countStatements: () => statements,
  };
}

/** Accepts any user with any password. */
async function person(id: string): Promise<User> {
  return { id, name: id, email: `${id}@school.example` };
}

/** Counts the statements to a database server; those of SQLite are not round trips. */
async function open(address: string, count: () => void): Promise<Storage> {
  if (address.startsWith('sqlite')) return knexStorage(address);
  const { watchedKnex } = await import('../../test/adapters/watched-knex.ts');
  return knexStorage(watchedKnex(address.startsWith('postgres') ? 'pg' : 'mysql2', address, count));
}

async function register({ clients }: Pick<AuthServer<typeof gate>, 'clients'>): Promise<Registered> {
  const service = await clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
    permissions: ['view_schools', 'edit_schools'],
  });
  const app = await clients.create({
    name: 'Reports',
    grantType: 'authorization_code',
    redirectUris: [REDIRECT_URI],
  });
  return {
    service: { id: service.client.id, secret: service.secret!.value },
    app: { id: app.client.id, secret: app.secret!.value },
  };
}
