import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachEmptyDatabase } from '../adapters/databases.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { connectLaravel, createTables, issue } from '../passport/laravel.ts';
import { gatehouse, gatehouseJson } from './gatehouse.ts';
import { row13 } from './passport-tables.ts';

const CODE = {
  secret: 'a secret of the app',
  redirect_uris: ['https://app.example/cb'],
  grant_types: ['authorization_code'],
};
const DAY = 86_400;

onEachEmptyDatabase(
  'a dry run says how many live tokens move, and which cannot',
  async (t, { client }, address) => {
    const database = connectLaravel(client, address);
    await createTables(database, '13');
    const [app, revoked, admins, skipped, deleted] = Array.from({ length: 5 }, () => randomUUID());
    await database('oauth_clients').insert([
      row13({ ...CODE, id: app, name: 'App' }),
      row13({ ...CODE, id: revoked, name: 'Revoked', revoked: true }),
      row13({ ...CODE, id: admins, name: 'Admins', provider: 'admins' }),
      row13({ id: skipped, name: 'Implicit', grant_types: ['implicit'] }),
    ]);
    const at = Math.floor(Date.now() / 1000);
    const of = { clientId: app!, userId: 7, expiresIn: DAY };
    await issue(database, { ...of, scopes: ['orders:read', '*'] });
    await issue(database, { ...of, expiresIn: 30 * DAY, name: 'script' });
    await issue(database, { clientId: app! });
    await issue(database, { ...of, issuedAt: at - 2 * DAY });
    const ended = await issue(database, of);
    await database('oauth_access_tokens').where({ id: ended.id }).update({ revoked: true });
    await database('oauth_refresh_tokens').where({ id: ended.refreshId }).update({ revoked: true });
    const purged = await issue(database, of);
    await database('oauth_access_tokens').where({ id: purged.id }).delete();
    for (const clientId of [revoked, admins, skipped, deleted])
      await issue(database, { ...of, clientId: clientId! });

    const DATABASE_URL = `sqlite:${temporaryFile()}`;
    const storage = knexStorage(DATABASE_URL);
    await storage.migrate();
    await storage.close();
    const words = ['client', 'import', '--from', 'passport', '--source', address];
    const { tokens } = await gatehouseJson<{ tokens: Record<string, unknown> }>(words, { DATABASE_URL });
    const lastEnd = new Date((at + 30 * DAY) * 1000).toISOString();
    t.is(String(tokens['last_end']).slice(0, 10), lastEnd.slice(0, 10));
    t.deepEqual(tokens['accepted'], { user: 1, personal: 1, client: 1, refresh: 3 });
    const reasons = [
      'the client is for users of another provider',
      'the client is not imported',
      'the client is revoked',
      'the client was deleted',
    ];
    const refused = tokens['refused'] as readonly { readonly reason: string }[];
    t.deepEqual(
      refused.toSorted((a, b) => (a.reason < b.reason ? -1 : 1)),
      reasons.map((reason) => ({ reason, count: 2 })),
    );

    t.deepEqual(tokens['undefined_scopes'], ['orders:read']);
    const gateFile = temporaryFile('gate.ts');
    writeFileSync(
      gateFile,
      `import { defineGate } from ${JSON.stringify(import.meta.resolve('koa-gatehouse'))};
       export const gate = defineGate({ permissions: { view: 'View' } });
       export const scopes = { 'orders:read': { description: 'See', permissions: ['view'] } };`,
    );
    const checked = await gatehouseJson<{ tokens: Record<string, unknown> }>([...words, '--gate', gateFile], {
      DATABASE_URL,
    });
    t.deepEqual(checked.tokens['undefined_scopes'], []);

    const { output } = await gatehouse(words, { DATABASE_URL });
    t.true(output.includes('because those that are not defined permit nothing: orders:read.\n'), output);
    t.true(
      output.includes(
        `Live tokens that the option passport accepts: 1 access tokens of users, 1 personal access tokens, 1 access tokens of clients, 3 refresh tokens; the last one ends on ${lastEnd.slice(0, 10)}.\n`,
      ),
      output,
    );
    t.true(output.includes('Live tokens that cannot move: 2, because the client is revoked.\n'), output);

    // Whoever may read the clients only can import them.
    await database.schema.dropTable('oauth_refresh_tokens');
    const without = await gatehouse(words, { DATABASE_URL });
    t.true(
      without.output.includes(
        'The live tokens were not counted: source: this database has no table oauth_refresh_tokens',
      ),
      without.output,
    );
    t.is(without.code, 0);
    await database.destroy();
  },
);
