import test from 'ava';
import type { ExecutionContext } from 'ava';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import Koa from 'koa';
import knex from 'knex';
import { z } from 'zod';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, listenerOf, startPlatform } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { requestClientToken } from '../harness/tokens.ts';

const ROWS = 200;

// On a slow machine the dry runs wait long for each other.
const timeout = '30 seconds';

const KINDS: Readonly<Record<string, (filename: string, host: knex.Knex) => Storage>> = {
  'a file': (filename) => knexStorage(`sqlite:${filename}`, { timeout }),
  'a Knex instance of the host': (_filename, host) => knexStorage(host, { timeout }),
};

for (const [kind, storageOn] of Object.entries(KINDS)) {
  test(`on SQLite, with ${kind}, an authorization during four dry runs waits for at most one of them`, async (t) => {
    const counts = await authorizeDuringBulks(t, storageOn);
    t.log(`dry runs that ended during each of ten authorizations: ${counts.join(' ')}`);
    const sum = counts.reduce((all, count) => all + count, 0);
    t.true(sum <= 2 * counts.length, counts.join(' '));
  });
}

/** How many dry runs end during each of ten authorizations of a signed-in user. */
async function authorizeDuringBulks(
  t: ExecutionContext,
  storageOn: (filename: string, host: knex.Knex) => Storage,
): Promise<number[]> {
  const filename = temporaryFile();
  const host = knex({
    client: 'better-sqlite3',
    connection: { filename },
    useNullAsDefault: true,
    pool: {
      afterCreate(file: { pragma(text: string): void }, done: () => void) {
        file.pragma('journal_mode = wal');
        done();
      },
    },
  });
  const storage = storageOn(filename, host);
  await storage.migrate();
  await host.schema.createTable('schools', (table) => {
    table.string('id').primary();
    table.string('name');
  });
  await host('schools').insert(Array.from({ length: ROWS }, (_, id) => ({ id: String(id), name: 'x' })));
  const rename = defineAction({
    type: 'school',
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename a school',
    permission: 'view_schools',
    input: z.object({ name: z.string() }),
    output: z.object({}),
    database: host,
    async run({ id, input, database }) {
      await database('schools').where({ id }).update(input);
      // Like an action that awaits other work: the event loop is free meanwhile, the connection is not.
      await new Promise(setImmediate);
      return {};
    },
  });
  const platform = await startPlatform(
    { storage },
    {
      app({ auth }) {
        const app = new Koa();
        app.use(auth.middleware()).use(createApiRouter({ auth, actions: [rename] }).routes());
        return listenerOf(app);
      },
    },
  );
  t.teardown(async () => {
    await platform[Symbol.asyncDispose]();
    await storage.close();
    await host.destroy();
  });
  const [app, service] = [
    await platform.registerApp({ firstParty: true }),
    await platform.registerService(['view_schools']),
  ];
  const browser = new Browser();
  await authorize(platform, app, { browser });
  const { body } = await requestClientToken(platform, service);

  const bulks = { ended: 0, isOver: false };
  const items = Array.from({ length: ROWS }, (_, id) => ({ id: String(id), input: { name: 'y' } }));
  const running = Array.from({ length: 4 }, async () => {
    while (!bulks.isOver) {
      const { status } = await postJson(
        platform.url('/api/v1/actions/school/rename-school-action/bulk'),
        { mode: 'atomic', dryRun: true, items },
        { authorization: `Bearer ${body.access_token}` },
      );
      t.is(status, 200);
      bulks.ended += 1;
    }
  });
  while (bulks.ended < 4) await new Promise(setImmediate);
  const counts: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    const before = bulks.ended;
    const page = await browser.get(authorizeUrl(platform, app));
    t.truthy(page.location?.searchParams.get('code'), page.text);
    counts.push(bulks.ended - before);
  }
  bulks.isOver = true;
  await Promise.all(running);
  t.deepEqual(new Set(await host('schools').pluck('name')), new Set(['x']));
  return counts;
}
