// This package, as its users run it: everything kept in a database, every defence on.
import Koa from 'koa';
import { createApiRouter, createAuthServer, defineAction, defineGate } from 'koa-gatehouse';
import type { Action, AuthServer, Storage, User } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { pages } from 'koa-gatehouse/interactions';
import Router from 'koa-router';
import { z } from 'zod';

import { watchedKnex } from '../../adapters/watched-knex.ts';
import { REDIRECT_URI, SCOPE } from '../protocol.ts';
import type { Registered } from '../protocol.ts';
import { SCHOOLS } from './guarded-route.ts';
import { serveContestant } from './serve-contestant.ts';

const gate = defineGate({ permissions: { view_schools: 'View schools', edit_schools: 'Edit schools' } });
type Permission = 'view_schools' | 'edit_schools';

await serveContestant(async (origin, { database, registered }) => {
  let statements = 0;
  const storage = open(database!, () => {
    statements += 1;
  });
  if (!registered) await storage.migrate();
  const auth = await createAuthServer({
    issuer: origin,
    users: {
      authenticate: person,
      find: person,
      permissions: async () => ['view_schools'],
    },
    storage,
    interactions: pages({ brand: { name: 'Acme Schools' } }),
    gate,
    scopes: { [SCOPE]: { description: 'Your schools', permissions: ['view_schools', 'edit_schools'] } },
  });
  const router = new Router();
  router.get('/schools', auth.guard(), SCHOOLS);
  const app = new Koa();
  app.use(auth.middleware());
  app.use(createApiRouter({ auth, actions: [renameSchool()] }).routes());
  app.use(router.routes());
  const handle = app.callback();
  return {
    listener: (request, response) => void handle(request, response),
    registered: registered ?? (await register(auth)),
    countStatements: () => statements,
  };
});

/** Everybody is known, with any password. */
async function person(id: string): Promise<User> {
  return { id, name: id, email: `${id}@school.example` };
}

/** A database server's statements are counted; SQLite's are no round trips. */
function open(address: string, count: () => void): Storage {
  return address.startsWith('postgres')
    ? knexStorage(watchedKnex('pg', address, count))
    : knexStorage(address);
}

async function register({ clients }: Pick<AuthServer<Permission>, 'clients'>): Promise<Registered> {
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
    service: { id: service.client.id, secret: service.secret! },
    app: { id: app.client.id, secret: app.secret! },
  };
}

function renameSchool(): Action<Permission> {
  return defineAction({
    type: 'school',
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename a school',
    permission: 'edit_schools',
    input: z.object({ name: z.string().min(1).max(200) }),
    output: z.object({ id: z.string(), name: z.string() }),
    run: async ({ id, input: { name } }) => ({ id, name }),
  });
}
