import Koa from 'koa';
import { createApiRouter, defineGate } from 'koa-gatehouse';
import type { AuthServer, Gate } from 'koa-gatehouse';

export type Permission = 'view_schools' | 'edit_school';

export interface School {
  readonly id: string;
  readonly registrarId: string;
}

const schools: readonly School[] = [
  { id: 'hill', registrarId: '1' },
  { id: 'harbour', registrarId: '2' },
];

export const gate: Gate<Permission, 'registrar', { edit_school: School }> = defineGate({
  permissions: { view_schools: 'View schools', edit_school: 'Edit a school' },
  roles: { registrar: ['view_schools', 'edit_school'] },
  rules: { edit_school: ({ user }, { registrarId }: School) => user?.id === registrarId },
});

export const scopes = {
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
} as const;

export const ann = { id: '1', name: 'Ann', email: 'ann@school.example', roles: ['registrar'] } as const;
export const bob = { id: '2', name: 'Bob', email: 'bob@school.example' } as const;

/** A client with the authorization code grant. */
export const REPORTS = {
  name: 'Reports',
  grantType: 'authorization_code',
  redirectUris: ['https://reports.example/callback'],
} as const;

type SchoolAuth = AuthServer<typeof gate>;

/** An app of a host, which the tests of this folder test. */
export function createApp(auth: SchoolAuth): Koa {
  const api = createApiRouter({ auth });
  api.get('/schools', auth.requires('view_schools'), (ctx) => {
    ctx.body = { data: schools };
  });
  const requireSchool = auth.requires('edit_school', ({ params }) =>
    schools.find(({ id }) => id === params['id']),
  );
  api.get('/schools/:id/settings', requireSchool, (ctx) => {
    ctx.body = { data: { id: ctx.state.object.id, editor: ctx.state.user?.name } };
  });
  const app = new Koa();
  app.silent = true;
  app.use(auth.middleware());
  app.use(api.routes());
  return app;
}
