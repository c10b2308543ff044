import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import test from '../harness/test.ts';

import { gatehouse, gateFile } from '../cli/gatehouse.ts';
import { connectLaravel, createTables, row12 } from '../laravel-passport/laravel.ts';
import { blocksOf, GUIDES } from './guides.ts';

/** The lines of a guide's shell blocks that run the command. */
function commandsOf(guide: string): string[] {
  return blocksOf(guide, 'sh').flatMap(({ code }) => code.match(/^npx gatehouse .*$/gm) ?? []);
}

/** In place of the reader's own. */
const GATE_FILE = gateFile(`
  export const gate = defineGate({ permissions: { view_schools: 'View schools' } });
  export const scopes = { 'schools:read': { description: 'See schools', permissions: ['view_schools'] } };
  export const users = { find: async (id) => ({ id, name: 'Ada' }) };`);

// The first hour has a test of its own.
const guides = GUIDES.filter((guide) => guide !== 'docs/first-hour.md' && commandsOf(guide).length > 0);

test('the guides have commands', (t) => {
  t.true(guides.length > 4, String(guides.length));
});

for (const guide of guides) {
  test(`${guide}: its commands succeed, in order`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-guide-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const database = `sqlite:${join(folder, 'gatehouse.db')}`;
    t.is((await gatehouse(`migrate --database ${database}`)).code, 0);
    const PASSPORT_DATABASE_URL = await passportDatabase(folder);
    for (const line of commandsOf(guide)) {
      const words = line.split(/\s+/).slice(2);
      // The database of the guide is replaced by that of the test.
      const at = words.indexOf('--database');
      if (at >= 0) words[at + 1] = database;
      const gateAt = words.indexOf('--gate');
      if (gateAt >= 0) words[gateAt + 1] = GATE_FILE;
      const { code, errors } = await gatehouse(words, { DATABASE_URL: database, PASSPORT_DATABASE_URL });
      t.is(code, 0, `${line}\n${errors}`);
    }
  });
}

/** A Laravel app's database with one app in it. */
async function passportDatabase(folder: string): Promise<string> {
  const address = `sqlite:${join(folder, 'laravel.db')}`;
  const laravel = connectLaravel('better-sqlite3', address);
  await createTables(laravel, '11');
  await laravel('oauth_clients').insert(
    row12({ name: 'Reports', secret: 'a plain secret', redirect: 'https://reports.example/callback' }),
  );
  await laravel.destroy();
  return address;
}
