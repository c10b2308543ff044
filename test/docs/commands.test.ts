import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from 'ava';
import createKnex from 'knex';

import { gatehouse } from '../cli/gatehouse.ts';
import { CREATE_TABLE, row12 } from '../cli/passport-tables.ts';
import { blocksOf, GUIDES } from './guides.ts';

/** The lines of a guide's shell blocks that run the command. */
function commandsOf(guide: string): string[] {
  return blocksOf(guide, 'sh').flatMap(({ code }) => code.match(/^npx gatehouse .*$/gm) ?? []);
}

// The first hour has a test of its own.
const guides = GUIDES.filter((guide) => guide !== 'docs/first-hour.md' && commandsOf(guide).length > 0);

test('the guides have commands', (t) => {
  t.true(guides.length > 4);
});

for (const guide of guides) {
  test(`${guide}: its commands succeed, in order`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-guide-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const database = `sqlite:${join(folder, 'gatehouse.db')}`;
    t.is((await gatehouse(['migrate', '--database', database])).code, 0);
    for (const line of commandsOf(guide)) {
      const words = line.split(/\s+/).slice(2);
      // The databases of the guide are replaced by those of the test.
      await replaceValue(words, '--database', async () => database);
      await replaceValue(words, '--source', async () => passportDatabase(folder));
      const { code, errors } = await gatehouse(words, { DATABASE_URL: database });
      t.is(code, 0, `${line}\n${errors}`);
    }
  });
}

/** Replaces the value of an option, if the words have it. */
async function replaceValue(words: string[], option: string, value: () => Promise<string>): Promise<void> {
  const at = words.indexOf(option);
  if (at >= 0) words[at + 1] = await value();
}

/** A Laravel app's database with one app in it. */
async function passportDatabase(folder: string): Promise<string> {
  const filename = join(folder, 'laravel.db');
  const knex = createKnex({
    client: 'better-sqlite3',
    connection: { filename },
    useNullAsDefault: true,
  });
  if (!(await knex.schema.hasTable('oauth_clients'))) {
    await knex.raw(CREATE_TABLE['12.x']['better-sqlite3']);
    await knex('oauth_clients').insert(
      row12({ name: 'Reports', secret: 'a plain secret', redirect: 'https://reports.example/callback' }),
    );
  }
  await knex.destroy();
  return `sqlite:${filename}`;
}
