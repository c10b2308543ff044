import test from '../harness/test.ts';
import { defineGate } from 'koa-gatehouse';
import type { ApiRouter, Gate, Principal } from 'koa-gatehouse';

import { runCodeFlow, people, startPlatform } from '../harness/platform.ts';
import type { AppParts, Person } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { clientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

/** A school and its editors: users by email address, clients by name. */
interface School {
  readonly name: string;
  readonly editors: readonly string[];
}

const schools = new Map<string, School>([
  ['hill', { name: 'Hill School', editors: ['ann@school.example', 'bob@school.example', 'Nightly'] }],
  ['dale', { name: 'Dale School', editors: ['cleo@school.example'] }],
  ['ruin', { name: 'Ruin', editors: [] }],
]);

const gate = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_schools: { description: 'Edit schools', message: 'This school is not yours to edit.' },
  },
  roles: { registrar: ['view_schools', 'edit_schools'] },
  rules: {
    edit_schools({ user, client }: Principal<string, Person>, { name, editors }: School) {
      if (editors.length === 0) throw new TypeError(`${name}: an error of the host`);
      return editors.includes(user ? String(user.email) : client.name);
    },
  },
});

type Permission = 'view_schools' | 'edit_schools';
type Resources = { edit_schools: School };
type Api = ApiRouter<Gate<Permission, string, Resources>, Person>;

function addRoutes(api: Api, requires: AppParts['auth']['requires']): void {
  api.get('/schools/:id/rights', (ctx) => {
    const { principal } = ctx.state;
    const school = schools.get(ctx.params['id'] ?? '');
    ctx.body = {
      edit_some: principal.can('edit_schools'),
      edit_this: school !== undefined && principal.can('edit_schools', school),
    };
  });
  api.put('/schools/:id/name', (ctx) => {
    gate.authorize(ctx.state.principal, 'edit_schools');
    const school = schools.get(ctx.params['id'] ?? '') ?? ctx.throw(404);
    gate.authorize(ctx.state.principal, 'edit_schools', school);
    ctx.status = 204;
  });
  const requireSchool = requires(
    'edit_schools',
    (ctx) => schools.get(ctx.params['id'] ?? '') ?? ctx.throw(404, 'There is no such school.'),
  );
  api.put('/schools/:id', requireSchool, (ctx) => {
    ctx.body = { data: ctx.state.object.name };
  });
}

const users = people();
users.all[0] = { ...users.all[0]!, permissions: ['edit_schools'] };
const started = shared(async (stack) => {
  const platform = stack.use(
    await startPlatform(
      {
        gate,
        users,
        scopes: { 'schools:read': { description: 'See schools', permissions: ['view_schools'] } },
      },
      { routes: (api, { requires }) => addRoutes(api as unknown as Api, requires) },
    ),
  );
  /** A token of Ann, who may edit schools. */
  const ann = await runCodeFlow(platform, await platform.registerApp()).then(({ body }) => body.access_token);
  const annReading = await runCodeFlow(platform, await platform.registerApp(), {
    parameters: { scope: 'schools:read' },
  }).then(({ body }) => body.access_token);
  return { platform, ann, annReading };
});

async function edit(school: string, token: string): Promise<Answer> {
  const { platform } = await started();
  const headers = { authorization: `Bearer ${token}` };
  return send(platform.url(`/api/v1/schools/${school}`), { method: 'PUT', headers });
}

const rename = async (token: string): Promise<Answer> => edit('hill/name', token);

const FORBIDDEN = {
  type: 'about:blank',
  title: 'Forbidden',
  status: 403,
  detail: 'This school is not yours to edit.',
  code: 'missing_permission',
  message: 'This school is not yours to edit.',
  permission: 'edit_schools',
};

/** No scope of the server allows the permission; a token without scopes has it. */
const INSUFFICIENT_SCOPE = {
  ...FORBIDDEN,
  detail: 'The scopes of the access token exclude a required permission.',
  code: 'insufficient_scope',
  message: 'The scopes of the access token exclude a required permission.',
};

test('a user edits the resources that the rule allows', async (t) => {
  const { ann } = await started();
  t.is((await edit('hill', ann)).status, 200);
  const refused = await edit('dale', ann);
  t.is(refused.status, 403);
  t.is(refused.headers.get('content-type'), 'application/problem+json; charset=utf-8');
  t.deepEqual(refused.body, FORBIDDEN);
});

test('the same rule applies to a client', async (t) => {
  const { platform } = await started();
  const nightly = await clientToken(platform, await platform.registerService(['edit_schools']));
  t.is((await edit('hill', nightly)).status, 200);
  t.deepEqual((await edit('dale', nightly)).body, FORBIDDEN);
});

test('a rule gives nothing without the permission, nor to a token whose scopes exclude it', async (t) => {
  const { platform, annReading } = await started();
  for (const [token, refusal] of [
    [await clientToken(platform, await platform.registerService(['view_schools'])), FORBIDDEN],
    [annReading, INSUFFICIENT_SCOPE],
  ] as const) {
    t.deepEqual((await edit('hill', token)).body, refusal);
    t.deepEqual((await platform.api('/schools/hill/rights', token)).body, {
      edit_some: false,
      edit_this: false,
    });
  }
});

test('authorize() answers insufficient_scope when only the scopes exclude the permission', async (t) => {
  const { ann, annReading, platform } = await started();
  t.is((await rename(ann)).status, 204);
  const limited = await rename(annReading);
  t.deepEqual(limited.body, INSUFFICIENT_SCOPE);
  t.is(
    limited.headers.get('www-authenticate'),
    'Bearer error="insufficient_scope", error_description="The scopes of the access token exclude a required permission."',
  );
  const withoutPermission = await rename(
    await clientToken(platform, await platform.registerService(['view_schools'])),
  );
  t.deepEqual(withoutPermission.body, FORBIDDEN);
  t.is(withoutPermission.headers.get('www-authenticate'), null, 'no scope gives the permission');
  for (const byRule of [await edit('dale', ann), await edit('dale/name', ann)]) {
    t.deepEqual(byRule.body, FORBIDDEN);
    t.is(byRule.headers.get('www-authenticate'), null, 'the rule refuses');
  }
});

test('principal.can() answers for any resource or for one', async (t) => {
  const { platform, ann } = await started();
  t.deepEqual((await platform.api('/schools/hill/rights', ann)).body, { edit_some: true, edit_this: true });
  t.deepEqual((await platform.api('/schools/dale/rights', ann)).body, { edit_some: true, edit_this: false });
});

test('an error of a rule is a 500 that does not contain its message', async (t) => {
  const { ann } = await started();
  const { status, body, text } = await edit('ruin', ann);
  t.is(status, 500);
  t.is(body?.['code'], 'internal_error');
  t.false(text.includes('an error of the host'));
});
