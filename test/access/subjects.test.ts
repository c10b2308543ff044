import test from 'ava';
import Koa from 'koa';
import { createApiRouter, defineGate } from 'koa-gatehouse';
import type { ApiRouter, Principal } from 'koa-gatehouse';

import { connect, listenerOf, people, startPlatform } from '../harness/platform.ts';
import type { AppParts, Person, RegisteredApp } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';

/** A school, and who may edit it: people by their email address, apps by their name. */
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
      if (editors.length === 0) throw new TypeError(`${name}: a mistake of the host`);
      return editors.includes(user ? String(user.email) : client.name);
    },
  },
});

type Permission = 'view_schools' | 'edit_schools';
type Subjects = { edit_schools: School };
type Api = ApiRouter<Permission, Person, Subjects>;

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
    ctx.status = 204;
  });
  api.put('/schools/:id', requires('edit_schools'), (ctx) => {
    const school = schools.get(ctx.params['id'] ?? '') ?? ctx.throw(404, 'There is no such school.');
    gate.authorize(ctx.state.principal, 'edit_schools', school);
    ctx.body = { data: school.name };
  });
}

const users = people();
users.all[0] = { ...users.all[0]!, permissions: ['edit_schools'] };
const platform = await startPlatform(
  { gate, users, scopes: { 'schools:read': { description: 'See schools', permissions: ['view_schools'] } } },
  {
    app({ auth }) {
      const api: Api = createApiRouter<Permission, Person, Subjects>({ auth });
      addRoutes(api, auth.requires);
      const app = new Koa();
      app.silent = true;
      app.use(auth.middleware()).use(api.routes());
      return listenerOf(app);
    },
  },
);
/** Ann, who may edit schools, by an app. */
const ann = await connect(platform, await platform.registerApp()).then(({ body }) => body.access_token);
const annReading = await connect(platform, await platform.registerApp(), {
  parameters: { scope: 'schools:read' },
}).then(({ body }) => body.access_token);

async function tokenOf({ client, secret }: RegisteredApp): Promise<string> {
  const { body } = await platform.token({
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: secret,
  });
  return body.access_token;
}

async function edit(school: string, token: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}` };
  return send(platform.url(`/api/v1/schools/${school}`), { method: 'PUT', headers });
}

test.after.always(async () => platform[Symbol.asyncDispose]());

const FORBIDDEN = {
  type: 'about:blank',
  title: 'Forbidden',
  status: 403,
  detail: 'This school is not yours to edit.',
  code: 'missing_permission',
  message: 'This school is not yours to edit.',
  permission: 'edit_schools',
};

test('a user edits the subjects that the rule admits them to', async (t) => {
  t.is((await edit('hill', ann)).status, 200);
  const refused = await edit('dale', ann);
  t.is(refused.status, 403);
  t.is(refused.headers.get('content-type'), 'application/problem+json; charset=utf-8');
  t.deepEqual(refused.body, FORBIDDEN);
});

test('a client acts under the same rule', async (t) => {
  const nightly = await tokenOf(await platform.registerService(['edit_schools']));
  t.is((await edit('hill', nightly)).status, 200);
  t.deepEqual((await edit('dale', nightly)).body, FORBIDDEN);
});

test('the rule gives nothing to those who lack the permission, nor to a token whose scopes keep it back', async (t) => {
  for (const token of [await tokenOf(await platform.registerService(['view_schools'])), annReading]) {
    t.deepEqual((await edit('hill', token)).body, FORBIDDEN);
    t.deepEqual((await platform.api('/schools/hill/rights', token)).body, {
      edit_some: false,
      edit_this: false,
    });
  }
});

test('authorize() asks for another token when only the scopes of this one keep the permission back', async (t) => {
  const rename = async (token: string): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}` };
    return send(platform.url('/api/v1/schools/hill/name'), { method: 'PUT', headers });
  };
  t.is((await rename(ann)).status, 204);
  const limited = await rename(annReading);
  t.deepEqual(limited.body, FORBIDDEN);
  t.is(
    limited.headers.get('www-authenticate'),
    'Bearer error="insufficient_scope", error_description="The scopes of the access token exclude a required permission."',
  );
  const lacking = await rename(await tokenOf(await platform.registerService(['view_schools'])));
  t.deepEqual(lacking.body, FORBIDDEN);
  t.is(lacking.headers.get('www-authenticate'), null, 'no scope would help');
  const ruled = await edit('dale', ann);
  t.is(ruled.headers.get('www-authenticate'), null, 'it is the rule that refuses');
});

test('principal.can() tells some school from this one', async (t) => {
  t.deepEqual((await platform.api('/schools/hill/rights', ann)).body, { edit_some: true, edit_this: true });
  t.deepEqual((await platform.api('/schools/dale/rights', ann)).body, { edit_some: true, edit_this: false });
});

test('a rule that throws is a 500 without a word of it', async (t) => {
  const { status, body, text } = await edit('ruin', ann);
  t.is(status, 500);
  t.is(body?.['code'], 'internal_error');
  t.false(text.includes('a mistake of the host'));
});
