/**
 * Storage in an SQL database, by a pool of `pg` or `mysql2`, an open database of `better-sqlite3` or `node:sqlite`, or any other
 * connection: {@link SqlDatabase}. For Knex, and for the address of a database, there is `koa-gatehouse/adapters/knex`.
 *
 * @module koa-gatehouse/adapters/sql
 */
import '#runtime';

export { sqlStorage } from './sql-storage.ts';
export type { ListeningConnection, SqlResult, SqlConnection, SqlDatabase } from '../../lib/database/port.ts';
