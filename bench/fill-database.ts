import type { Storage } from 'koa-gatehouse';

import { FUTURE } from './bench-database.ts';
import type { BenchDatabase } from './bench-database.ts';
import { client, CLIENT_ID, session } from './rows.ts';

/** The rows that a database has before anything is measured. */
export interface Size {
  /** Of grants, each with a refresh token, of sessions, and of ended users, which are other ones. */
  readonly grants: number;
  readonly clients: number;
}

/** Fills a database with rows that are numbered from 1: see `idOf`. */
export async function fillDatabase(
  { addCopies, addGrants, addRevocations, knex }: BenchDatabase,
  storage: Storage,
  { clients, grants }: Size,
): Promise<void> {
  await addGrants({ from: 1, to: grants, clientId: CLIENT_ID, expiresAt: FUTURE });
  await addRevocations({ from: 1, to: grants });
  await storage.clients.insert(client(0), []);
  await addCopies('gatehouse_clients', client(0).id, {
    from: 1,
    to: clients,
    values: ({ app, id }) => ({ id, name: app, sort_name: app }),
  });
  // Each name is found by both of its words, of which the first is `app`.
  await knex.raw(
    `insert into gatehouse_client_names (client_id, beginning, owner_id)
     select id, sort_name, owner_id from gatehouse_clients where id <> ?
     union all select id, substr(sort_name, 5), owner_id from gatehouse_clients where id <> ?`,
    [client(0).id, client(0).id],
  );
  await storage.sessions.insert(session('0'));
  await addCopies('gatehouse_sessions', session('0').id, {
    from: 1,
    to: grants,
    values: ({ id, user }) => ({ id, uid: id, user_id: user }),
  });
}
