import type { Knex } from 'knex';
import { createApiRouter } from 'koa-gatehouse';
import type { ApiRouter, AuthServer, Resource } from 'koa-gatehouse';

import type { Permission, Role } from './gate.ts';

/** The statistics are an API of their own: apps ask for them with `resource`, and get tokens that are valid for an hour. */
export const STATISTICS: Resource<Permission> = {
  name: 'Larkfield statistics',
  scopes: {
    'statistics:read': { description: 'See how many schools there are', permissions: ['view_schools'] },
  },
  lifetimes: { accessToken: '1 hour' },
};

/** The URL of the statistics. */
export function statisticsUrl(baseUrl: string): string {
  return `${baseUrl}/statistics`;
}

/** The API of the statistics, which accepts no tokens of the platform's other API. */
export function createStatistics(
  auth: AuthServer<Permission, Role>,
  { database, baseUrl }: { readonly database: Knex; readonly baseUrl: string },
): ApiRouter<Permission> {
  const api = createApiRouter({ auth, resource: statisticsUrl(baseUrl) });
  api.get('/schools', auth.requires('view_schools'), async (ctx) => {
    const schools = await database('schools').select('open');
    ctx.body = {
      data: { schools: schools.length, open: schools.filter(({ open }) => Boolean(open)).length },
    };
  });
  return api;
}
