// oidc-provider alone, which stores in an SQLite file by Knex.
import knex from 'knex';

import { createTable, KnexAdapter } from './knex-adapter.ts';
import { plainProvider } from './plain-provider.ts';
import { serveContestant } from './serve-contestant.ts';

await serveContestant(async (origin, { database, registered }) => {
  const filename = database!.slice('sqlite:'.length);
  const opened = knex({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true });
  // The same durability as that of this package.
  await opened.raw('pragma journal_mode = wal');
  await opened.raw('pragma synchronous = normal');
  if (!registered) await createTable(opened);
  return plainProvider(origin, (model) => new KnexAdapter(opened, model));
});
