// A second program that locks an SQLite file, until it gets a message.
import { once } from 'node:events';

import { connectHost } from './host-knex.ts';

const [address = ''] = process.argv.slice(2);
const filename = address.slice('sqlite:'.length);
const database = connectHost('better-sqlite3', `sqlite:${filename}`);

await database.raw('begin immediate');
await database('gatehouse_grants').update({ scopes: '["changed"]' });
process.send?.('locked');
await once(process, 'message');
await database.raw('commit');
await database.destroy();
process.disconnect();
