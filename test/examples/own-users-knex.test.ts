import test from '../harness/test.ts';
import knex from 'knex';
import { issueToken } from 'koa-gatehouse/testing';

import { addPerson, createPeopleTable, createSchool, knexUsers } from '../../examples/own-users-knex.ts';
import { Browser } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { send } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { serveHost } from '../harness/platform.ts';

const database = knex({
  client: 'better-sqlite3',
  connection: { filename: ':memory:' },
  useNullAsDefault: true,
});
const started = shared(async () => {
  await createPeopleTable(database);
  const id = await addPerson(database, ann);
  return { id };
});

const ann = { name: 'Ann', email: 'Ann@school.example', password: 'correct horse', role: 'teacher' };

test.after.always(() => database.destroy());

test('users are found in the table', async (t) => {
  const { id } = await started();
  const users = knexUsers(database);
  const user = { id, name: 'Ann', email: 'ann@school.example' };
  t.deepEqual(await users.verifyPassword?.(' ANN@school.example ', 'correct horse'), user);
  t.is(await users.verifyPassword?.('ann@school.example', 'Correct horse'), undefined);
  t.is(await users.verifyPassword?.('bob@school.example', 'correct horse'), undefined);
  t.deepEqual(await users.find(id), user);
  t.is(await users.find('unknown'), undefined);
  t.deepEqual(await users.roles!(user), ['teacher']);
  const [row] = await database('people').where({ id });
  t.false(JSON.stringify(row).includes('correct horse'));
});

test("a user signs in, and the token has the permissions of the user's role", async (t) => {
  const { id } = await started();
  const { auth, origin } = await serveHost(t, async (own) => createSchool(own, database));
  t.teardown(async () => auth.close());
  const browser = new Browser();
  const login = await browser.open(`${origin}/account/apps`);
  const apps = await browser.follow(
    await browser.submit(login, 'Sign in', { login: ann.email, password: ann.password }),
  );
  t.is(apps.url.pathname, '/account/apps');

  const token = await issueToken(auth, { user: { id } });
  const headers = { authorization: `Bearer ${token}` };
  const identity = await send(`${origin}/api/v1/identity`, { headers });
  like(t, identity.body, { data: { name: 'Ann', roles: ['teacher'], permissions: ['view_schools'] } });
});
