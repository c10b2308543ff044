/**
 * A node in a process of its own, on the database and for the issuer of its arguments. Prints where it listens, and ends with
 * its input.
 */
import Koa from 'koa';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { startPlatform } from '../../test/harness/platform.ts';
import { listenerOf } from '../../test/harness/serve.ts';

const [database = '', issuer = ''] = process.argv.slice(2);

const platform = await startPlatform(
  { storage: knexStorage(database), issuer },
  {
    app({ auth, api }) {
      const app = new Koa();
      app.silent = true;
      app.use(auth.health()).use(auth.middleware()).use(api.routes());
      return listenerOf(app);
    },
  },
);
console.log(platform.origin);
process.stdin.resume().once('end', () => process.exit());
