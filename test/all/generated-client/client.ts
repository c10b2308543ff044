import createClient from 'openapi-fetch';

import type { components, paths } from './platform.d.ts';

type School = components['schemas']['school.create-school-action.output'];

/** A client program of the example platform, typed by its OpenAPI description. */
export async function reopenSchool(
  baseUrl: string,
  { accessToken, name, key }: { accessToken: string; name: string; key: string },
): Promise<{
  caller: string | null;
  created: School;
  renamed: School;
  refused: { status: number; pointers: (string | undefined)[] };
  bulk: { succeeded: number; failed: number; names: (string | undefined)[] };
  found: string[];
}> {
  // Not the lines that a bulk sends to those who ask for them.
  const client = createClient<paths, 'application/json' | 'application/problem+json'>({
    baseUrl,
    headers: { authorization: `Bearer ${accessToken}` },
  });
  const identity = await client.GET('/identity');

  const created = await client.POST('/actions/school/create-school-action', {
    params: { header: { 'Idempotency-Key': key } },
    body: { name, city: 'Delft' },
  });
  const school = created.data!.data;

  const renamed = await client.POST('/actions/school/{id}/rename-school-action', {
    params: { path: { id: school.id } },
    body: { name: `${name} Two` },
  });

  const refused = await client.POST('/actions/school/create-school-action', { body: { name: '', city: '' } });

  const bulk = await client.POST('/actions/school/rename-school-action/bulk', {
    body: {
      mode: 'independent',
      items: [
        { id: school.id, input: { name: `${name} Three` } },
        { id: 'nowhere', input: { name } },
      ],
    },
  });
  const { succeeded, failed, results } = bulk.data!.data;

  const schools = await client.GET('/schools', { params: { query: { search: name, limit: 10 } } });

  // @ts-expect-error a school has a city
  void (() => client.POST('/actions/school/create-school-action', { body: { name } }));
  // @ts-expect-error there is no such action
  void (() => client.POST('/actions/school/paint-school-action', { body: {} }));
  // @ts-expect-error the Objects API is not available
  void (() => client.GET('/objects/{type}', { params: { path: { type: 'school' } } }));

  return {
    caller: identity.data!.data.client_id,
    created: school,
    renamed: renamed.data!.data,
    refused: {
      status: refused.response.status,
      pointers: refused.error?.errors?.map(({ pointer }) => pointer) ?? [],
    },
    bulk: {
      succeeded,
      failed,
      names: results.map((result) => ('problem' in result ? result.problem.code : result.output?.name)),
    },
    found: schools.data!.data.map((one) => one.name),
  };
}
