// A second program that locks an SQLite file, until it gets a message.
import { once } from 'node:events';

import knex from 'knex';

const [address = ''] = process.argv.slice(2);
const filename = address.slice('sqlite:'.length);
const database = knex({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true });

await database.raw('begin immediate');
await database('gatehouse_grants').update({ scopes: '["changed"]' });
process.send?.('locked');
await once(process, 'message');
await database.raw('commit');
await database.destroy();
process.disconnect();
