// A node that gets stuck in the middle of migrating, to be killed there.
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

interface Connection {
  prepare(sql: string): unknown;
}

const [filename = ''] = process.argv.slice(2);
let statements = 0;

await knexStorage(
  knex({
    client: 'better-sqlite3',
    connection: { filename },
    useNullAsDefault: true,
    pool: {
      afterCreate(connection: Connection, done: (error?: Error) => void) {
        const prepare = connection.prepare.bind(connection);
        connection.prepare = (sql) => {
          if (sql.startsWith('create table')) statements += 1;
          if (statements === 4) getStuck();
          return prepare(sql);
        };
        done();
      },
    },
  }),
).migrate();

function getStuck(): void {
  process.send?.('in the middle');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
