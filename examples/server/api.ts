import type { Knex } from 'knex';
import { createApiRouter } from 'koa-gatehouse';
import type { ApiRouter, AuthServer, OpenApiPath } from 'koa-gatehouse';
import { z } from 'zod';

import { platformActions } from './actions/index.ts';
import { SCHOOL } from './actions/school.ts';
import type { gate } from './gate.ts';
import { LETTER, sendLetter } from './letters/letter-route.ts';
import type { Letters } from './letters/letters.ts';
import { QUERY_PARAMETERS, readSchoolQuery } from './school-query.ts';
import { listSchools } from './schools.ts';

export interface ApiOptions {
  readonly auth: AuthServer<typeof gate>;
  readonly knex: Knex;
  readonly letters: Letters;
}

/** The platform's API: the routes of Gatehouse, the platform's actions and two routes of its own. */
export function createApi({ auth, knex, letters }: ApiOptions): ApiRouter<typeof gate> {
  const api = createApiRouter({
    auth,
    session: true, // for the page /schools, which sends no token
    actions: platformActions(knex),
    openapi: {
      access: 'public', // so that a browser, which sends no token, can open /docs
      title: 'Larkfield Schools',
      description: 'The schools of the platform, and what can be done with them.',
      paths: { '/schools': SCHOOLS, '/schools/{id}/letter': LETTER },
    },
  });
  api.get('/schools', auth.requires('view_schools'), async (ctx) => {
    ctx.body = await listSchools(knex, readSchoolQuery(ctx.query));
  });
  api.get('/schools/:id/letter', auth.requires('view_schools'), async (ctx) => {
    await sendLetter(ctx, { letters, knex });
  });
  return api;
}

const PAGE = z.object({
  data: z.array(SCHOOL),
  next: z.string().nullable().describe('The value of `after` for the next page; null on the last page.'),
});

const SCHOOLS: OpenApiPath = {
  get: {
    operationId: 'listSchools',
    summary: 'Schools, in pages',
    tags: ['school'],
    'x-permission': { name: 'view_schools', description: 'View schools' },
    parameters: QUERY_PARAMETERS,
    responses: {
      200: {
        description: 'A page.',
        content: { 'application/json': { schema: z.toJSONSchema(PAGE) } },
      },
      403: { $ref: '#/components/responses/PermissionMissing' },
      422: { $ref: '#/components/responses/InputInvalid' },
    },
  },
};
