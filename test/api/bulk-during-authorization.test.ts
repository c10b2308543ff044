import test from 'ava';
import type { ExecutionContext } from 'ava';
import { createApiRouter, defineAction } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import type { Knex } from 'knex';
import { z } from 'zod';

import { connectHost } from '../adapters/host-knex.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, bareApp, startPlatform } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { clientToken } from '../harness/tokens.ts';

const ROWS = 200;

// On a slow machine the dry runs wait long for each other.
const timeout = '30 seconds';

const KINDS: Readonly<Record<string, (filename: string, host: Knex) => Storage>> = {
  'a file': (filename) => knexStorage(`sqlite:${filename}`, { timeout }),
  'a Knex instance of the host': (_filename, host) => knexStorage(host, { timeout }),
};

for (const [kind, storageOn] of Object.entries(KINDS)) {
  test(`on SQLite, with ${kind}, an authorization during four dry runs waits for at most one of them`, async (t) => {
    const counts = await authorizeDuringBulks(t, storageOn);
    const sum = counts.reduce((all, count) => all + count, 0);
    t.true(sum <= 2 * counts.length, counts.join(' '));
  });
}

/** How many dry runs end during each of five authorizations of a signed-in user. */
async function authorizeDuringBulks(
  t: ExecutionContext,
  storageOn: (filename: string, host: Knex) => Storage,
): Promise<number[]> {
  const filename = temporaryFile();
  const host = connectHost('better-sqlite3', `sqlite:${filename}`);
  await host.raw('pragma journal_mode = wal');
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
    { app: ({ auth }) => bareApp({ auth, api: createApiRouter({ auth, actions: [rename] }) }) },
  );
  t.teardown(async () => {
    await platform[Symbol.asyncDispose]();
    await storage.close();
    await host.destroy();
  });
  const app = await platform.registerApp({ firstParty: true });
  const browser = new Browser();
  await authorize(platform, app, { browser });
  const token = await clientToken(platform, await platform.registerService(['view_schools']));

  const bulks = { ended: 0, isOver: false };
  const items = Array.from({ length: ROWS }, (_, id) => ({ id: String(id), input: { name: 'y' } }));
  const running = Array.from({ length: 4 }, async () => {
    while (!bulks.isOver) {
      const { status } = await postJson(
        platform.url('/api/v1/actions/school/rename-school-action/bulk'),
        { mode: 'atomic', dryRun: true, items },
        { authorization: `Bearer ${token}` },
      );
      t.is(status, 200);
      bulks.ended += 1;
    }
  });
  while (bulks.ended < 4) await new Promise(setImmediate);
  const counts: number[] = [];
  for (let count = 0; count < 5; count += 1) {
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
