import { knexStorage } from 'koa-gatehouse/adapters/knex';

// Small enough that one batch never holds a lock for long.
const BATCH = 500;

/** Removes the rows of a database that have expired, while servers may be using it. */
export async function prune(database: string): Promise<string> {
  const storage = knexStorage(database);
  try {
    let total = 0;
    for (;;) {
      const removed = await storage.prune(Math.floor(Date.now() / 1000), BATCH);
      if (removed === 0) return `Removed ${total} expired rows.`;
      total += removed;
    }
  } finally {
    await storage.close();
  }
}
