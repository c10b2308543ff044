import type { Knex } from 'knex';
import { createApiRouter } from 'koa-gatehouse';
import type { ApiRouter, AuthServer } from 'koa-gatehouse';

import { statisticsUrl } from './gate.ts';
import type { gate } from './gate.ts';

/** The API of the statistics, which accepts no tokens of the platform's other API. */
export function createStatistics(
  auth: AuthServer<typeof gate>,
  { database, baseUrl }: { readonly database: Knex; readonly baseUrl: string },
): ApiRouter<typeof gate> {
  const api = createApiRouter({ auth, resource: statisticsUrl(baseUrl) });
  api.get('/schools', auth.requires('view_schools'), async (ctx) => {
    const schools = await database('schools').select('open');
    ctx.body = {
      data: { schools: schools.length, open: schools.filter(({ open }) => Boolean(open)).length },
    };
  });
  return api;
}
