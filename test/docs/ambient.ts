/**
 * The declarations that code blocks of the guides assume: an app, a server, a database. A block may declare its own. Each
 * block is checked as a separate module.
 */
import type { Knex } from 'knex';
import type { Pool } from 'pg';
import type Koa from 'koa';
import type { AuthServer, ClientFields, Gate, Storage, User, UserStore } from 'koa-gatehouse';
import type { WithPersonalTokens } from 'koa-gatehouse/types';
import type Router from 'koa-router';

type Permission = 'view_schools' | 'edit_schools' | 'manage_apps' | 'manage_all_apps';

declare global {
  const app: Koa;
  const router: Router;
  const knex: Knex;
  const pool: Pool;
  const storage: Storage;
  const users: UserStore;
  const user: User;
  const gate: Gate<Permission, 'registrar'>;
  const auth: AuthServer<typeof gate> & WithPersonalTokens;
  const fields: ClientFields;
}
