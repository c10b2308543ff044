import { knexStorage } from 'koa-gatehouse/adapters/knex';

/** Creates the tables of a database, or brings them up to date. */
export async function migrate(database: string): Promise<string> {
  const storage = knexStorage(database);
  try {
    const pending = await storage.pendingMigrations();
    await storage.migrate();
    return pending.length === 0 ? 'The database is up to date.' : `Migrated: ${pending.join(', ')}`;
  } finally {
    await storage.close();
  }
}
