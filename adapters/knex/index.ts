/**
 * Storage in an SQL database: SQLite, PostgreSQL, MariaDB or MySQL, by way of Knex. Install `knex` and the driver of the
 * database, which is `better-sqlite3`, `pg` or `mysql2`.
 *
 * @module koa-gatehouse/adapters/knex
 */
import '#runtime';

export { backupSqlite } from './backup.ts';
export { knexStorage } from './knex-storage.ts';
