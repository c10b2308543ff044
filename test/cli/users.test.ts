import test from '../harness/test.ts';
import { personalTokens } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { connectHost } from '../adapters/host-knex.ts';
import { startPlatform } from '../harness/platform.ts';
import { until } from '../harness/until.ts';
import { gatehouse, gatehouseJson, gateFile, migrated } from './gatehouse.ts';

test('an erasure that is not complete fails, and says what to do', async (t) => {
  const address = `sqlite:${temporaryFile()}`;
  const storage = knexStorage(address);
  await storage.migrate();
  // As a user who logs in again each time.
  const knex = connectHost('better-sqlite3', address);
  t.teardown(async () => Promise.all([storage.close(), knex.destroy()]));
  await storage.assignments.save('1', { roles: ['registrar'], permissions: [] });
  await knex.raw(`
    create trigger login after delete on gatehouse_assignments begin
      insert into gatehouse_sessions (id, uid, user_id, payload, expires_at, sequence, last_used_at)
      values (old.user_id, old.user_id, old.user_id, '{}', 9e9, 9e18, 0);
    end`);
  await knex.raw(`
    create trigger assignment after delete on gatehouse_sessions begin
      insert into gatehouse_assignments (user_id, roles, permissions) values (old.user_id, '[]', '[]');
    end`);
  const { code, errors, output } = await gatehouse('user-data erase 1 --yes', {
    DATABASE_URL: address,
  });
  t.deepEqual([code, output], [1, '']);
  t.regex(errors, /The erasure is not complete: .* Remove the user from your user table, .* repeat/);
});

test('tokens are created, listed and ended on the command line, and a user is exported and erased', async (t) => {
  const address = `sqlite:${temporaryFile()}`;
  const env = { DATABASE_URL: address };
  await using platform = await startPlatform({
    storage: knexStorage(address),
    features: [personalTokens()],
    tokens: { revocationLag: 1 },
  });
  const status = async (value: string): Promise<number> => (await platform.api('/schools', value)).status;
  const names = gateFile(`
    export const gate = defineGate({ permissions: { view_schools: 'View schools' } });
    export const scopes = { 'schools:read': { description: 'See schools', permissions: ['view_schools'] } };
    export const users = { find: async (id) => (id === '1' ? { id, name: 'Ada' } : undefined) };`);
  const create = `personal-token create --user-id 1 --name Nightly --scope schools:read --gate ${names}`;
  const { token, value } = await gatehouseJson<{ token: { id: string; scopes: string[] }; value: string }>(
    `${create} --lifetime '30 days'`,
    env,
  );
  t.deepEqual(token.scopes, ['schools:read']);
  t.is(await status(value), 200);
  const listed = await gatehouse('personal-token list 1', env);
  t.true(listed.output.includes(token.id) && listed.output.includes('Nightly'));
  t.false(listed.output.includes(value));
  const tooLong = await gatehouse(`${create} --lifetime '2 years'`, env);
  t.deepEqual([tooLong.code, /lifetime: at most 31536000 s/.test(tooLong.errors)], [1, true]);
  t.is((await gatehouse(`personal-token revoke ${token.id}`, env)).code, 2, 'asks first');
  t.is((await gatehouse(`personal-token revoke ${token.id} --yes`, env)).code, 0);
  t.is((await gatehouse(`personal-token revoke ${token.id} --yes`, env)).code, 1);
  await until(async () => (await status(value)) === 401);

  const other = (await gatehouse(`${create} --lifetime '1 day'`, env)).output.split('\n')[0]!;
  t.is(await status(other), 200);
  const exported = await gatehouseJson<Record<string, unknown[]>>('user-data export 1', env);
  t.is(exported['personalTokens']!.length, 1);
  t.true(JSON.stringify(exported['audit']).includes('personal_token_created'));
  t.is((await gatehouse('user-data erase 1', env)).code, 2, 'asks first');
  const erased = await gatehouseJson<{ erased: string; rows: number }>('user-data erase 1 --yes', env);
  t.is(erased.erased, '1');
  t.true(erased.rows >= 3);
  await until(async () => (await status(other)) === 401);
  t.like(await gatehouseJson('user-data export 1', env), { personalTokens: [], audit: [] });
});

test('a token for nobody, with a name that the server lacks, or for thirty of something is refused', async (t) => {
  const env = { DATABASE_URL: await migrated() };
  const gate = `export const gate = defineGate({ permissions: { view_schools: 'View schools' } });`;
  const scopes = `export const scopes = { 'schools:read': { description: 'See schools', permissions: ['view_schools'] } };`;
  const users = `export const users = { find: async (id) => (id === '1' ? { id, name: 'Ada' } : undefined) };`;
  const [all, withoutUsers, withoutScopes, wrong] = [
    gateFile(gate + scopes + users),
    gateFile(gate + scopes),
    gateFile(gate + users),
    gateFile(`${gate}export const users = [];`),
  ];
  const create = 'personal-token create --name Nightly';
  for (const [command, remedy] of [
    [`${create} --user-id 1 --lifetime 30 --gate ${all}`, /Give the unit too, such as '30 days', or '30 s'/],
    [`${create} --user-id 2 --lifetime 30days --gate ${all}`, /--user-id: users\.find\(\) finds no user 2;/],
    [
      `${create} --user-id 1 --lifetime 30days --scope schools:raed --gate ${all}`,
      /scopes: there is no scope "schools:raed"/,
    ],
    [
      `${create} --user-id 1 --lifetime 30days --permission view_school --gate ${all}`,
      /the gate has no permission view_school\./,
    ],
    [
      `${create} --user-id 1 --lifetime 30days --scope schools:read`,
      /because --gate is missing: schools:read, 1\. Give --gate/,
    ],
    [
      `${create} --user-id 1 --lifetime 30days --scope schools:read --gate ${withoutUsers}`,
      /does not export `users`: 1\. Give/,
    ],
    [
      `${create} --user-id 1 --lifetime 30days --scope schools:read --gate ${withoutScopes}`,
      /exports neither `scopes` nor `resources`: schools:read\. Give/,
    ],
    [
      `${create} --user-id 1 --lifetime 30days --gate ${wrong}`,
      /exports `users` without the method find\(id\)/,
    ],
  ] as const) {
    const { code, errors } = await gatehouse(command, env);
    t.regex(errors, remedy, command);
    t.not(code, 0, command);
  }
  t.is((await gatehouse('personal-token list 1', env)).output, 'No tokens.\n');

  const { code, errors, output } = await gatehouse(
    `${create} --user-id 1 --lifetime 30days --scope schools:read --unchecked`,
    env,
  );
  t.is(code, 0, errors);
  t.regex(output, /ends on \d{4}-\d\d-\d\d .*\(UTC\)/);
  t.regex(output + errors, /Servers accept it with the feature personalTokens\(\) only\./);

  const spaced = await gatehouse(
    `client create --name App --grant-type client_credentials --permission 'view schools'`,
    env,
  );
  t.deepEqual([spaced.code, spaced.output], [2, '']);
  t.regex(spaced.errors, /permissions: "view schools" can be no name of a gate, .* such as view_schools/);
  const scoped = await gatehouse(
    `client create --name App --grant-type client_credentials --scope boats:read --gate ${withoutScopes}`,
    env,
  );
  t.regex(
    scoped.output + scoped.errors,
    /Not checked, because the file of --gate exports neither `scopes` nor `resources`: boats:read\./,
  );
});
