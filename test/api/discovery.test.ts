import test from '../harness/test.ts';

import { like } from '../harness/like.ts';
import { serveApi } from './api.ts';
import { schoolActions } from './school-actions.ts';

const BASE = 'https://platform.example/api/v1';

test('the list has the actions that the caller may run, and no others', async (t) => {
  const { create, rename, grade } = schoolActions();
  const { call, platform } = await serveApi(t, { actions: [create, rename, grade] });
  const list = async (token: string) => {
    const { status, body, headers } = await call('/actions', token);
    t.is(status, 200);
    t.is(headers.get('cache-control'), 'no-store');
    return body['data'] as { name: string }[];
  };
  const common = { type: 'school', permission: 'edit_schools', checksObject: false, atomic: false };
  t.deepEqual(await list(await platform.userToken()), [
    {
      ...common,
      name: 'create-school-action',
      level: 'collection',
      title: 'Create a school',
      description: null,
      urls: {
        execute: `${BASE}/actions/school/create-school-action`,
        bulk: `${BASE}/actions/school/create-school-action/bulk`,
      },
    },
    {
      ...common,
      name: 'rename-school-action',
      level: 'instance',
      title: 'Rename a school',
      description: 'Gives a school another name.',
      urls: {
        execute: `${BASE}/actions/school/{id}/rename-school-action`,
        bulk: `${BASE}/actions/school/rename-school-action/bulk`,
      },
    },
  ]);
  t.deepEqual(await list(await platform.clientToken()), []);
  t.deepEqual(await list(await platform.userToken({ scope: 'schools:read' })), [], 'excluded by the scopes');
  platform.users.set('gus', { id: 'gus', permissions: ['view_grades'], roles: [] });
  const grader = await list(await platform.userToken({ sub: 'gus' }));
  t.deepEqual(
    grader.map(({ name }) => name),
    ['grade-school-action'],
  );
});

test('the path of a type lists the actions on it', async (t) => {
  const { create, rename, grade } = schoolActions();
  const pupil = { ...create, type: 'pupil' };
  const { call, platform } = await serveApi(t, { actions: [create, pupil, rename, grade] });
  const get = async (type: string, token: string) => call(`/actions/${type}`, token);
  const editor = await platform.userToken();
  const schools = await get('school', editor);
  t.is(schools.status, 200);
  t.is(schools.headers.get('cache-control'), 'no-store');
  t.deepEqual(namesIn(schools), ['school/create-school-action', 'school/rename-school-action']);
  t.deepEqual(namesIn(await get('pupil', editor)), ['pupil/create-school-action']);
  t.deepEqual(namesIn(await get('school', await platform.clientToken())), [], 'none that the client may run');

  for (const type of ['teacher', 'School', '__proto__', 'schoo']) {
    const { status, body } = await get(type, editor);
    t.is(status, 404, type);
    t.is(body['code'], 'action_not_found', type);
    t.is(body['message'], 'There is no such action. The list of actions has those that you may run.');
  }
});

test('the path of an action has the JSON Schemas of its input and output', async (t) => {
  const { rename } = schoolActions();
  const { call, platform } = await serveApi(t, { actions: [rename] });
  const { status, body } = await call('/actions/school/rename-school-action', await platform.userToken());
  t.is(status, 200);
  like(t, body['data'], {
    name: 'rename-school-action',
    level: 'instance',
    permission: 'edit_schools',
    input: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { name: { type: 'string', pattern: String.raw`^\S(?:.{0,98}\S)?$` } },
      required: ['name'],
    },
    output: {
      type: 'object',
      properties: { id: { type: 'string' }, name: { type: 'string' } },
      required: ['id', 'name'],
    },
  });
});

test('an action that the caller may not run is 403, like running it, and without a token all is 401', async (t) => {
  const { grade } = schoolActions();
  const { call, platform } = await serveApi(t, { actions: [grade] });
  const action = '/actions/school/grade-school-action';
  const { status, body } = await call(action, await platform.userToken());
  t.is(status, 403);
  t.is(body['message'], 'You may not see grades.');
  for (const path of ['/actions', '/actions/school', action, '/actions/school/nothing-action'])
    t.is((await call(path)).status, 401);
});

function namesIn({ body }: { body: Record<string, unknown> }): string[] {
  return (body['data'] as { type: string; name: string }[]).map(({ type, name }) => `${type}/${name}`);
}
