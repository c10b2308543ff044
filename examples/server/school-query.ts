import { ActionError } from 'koa-gatehouse';
import { z } from 'zod';

const SORTS = ['name', '-name', 'city', '-city'] as const;

/** The parsed query of `GET /api/v1/schools`. */
export interface SchoolQuery {
  /** Part of a name or a city, any case. */
  readonly search: string | undefined;
  readonly sort: { readonly column: 'name' | 'city'; readonly order: 'asc' | 'desc' };
  readonly limit: number;
  /** The last school of the previous page. */
  readonly after: { readonly value: string; readonly id: string } | undefined;
}

/** PostgreSQL refuses a NUL in a text. */
const SEARCH = /^\P{Cc}*$/u;

/** The query parameters, as OpenAPI describes them. */
export const QUERY_PARAMETERS: readonly object[] = [
  parameter('search', 'Part of a name or a city, in any case.', {
    type: 'string',
    maxLength: 100,
    pattern: SEARCH.source,
  }),
  parameter('sort', 'The sort order; - reverses it. Default: name.', { enum: SORTS }),
  parameter('limit', 'The maximum number of schools. Default: 50.', {
    type: 'integer',
    minimum: 1,
    maximum: 100,
  }),
  parameter('after', 'The `next` of the previous page.', { type: 'string' }),
];

const Query = z.strictObject({
  search: z.string().max(100).regex(SEARCH).optional(),
  sort: z.enum(SORTS).default('name'),
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/)
    .transform(Number)
    .default(50),
  after: z.string().optional(),
});

const Cursor = z.tuple([z.enum(SORTS), z.string(), z.string()]);

/** @throws ActionError `query_invalid`, 422, for an invalid query */
export function readSchoolQuery(query: Readonly<Record<string, unknown>>): SchoolQuery {
  const { data, error } = Query.safeParse({ ...query });
  if (error) {
    const [{ path, code, keys = [] }] = error.issues as [z.core.$ZodIssue & { keys?: string[] }];
    throw invalid(
      code === 'unrecognized_keys' ? `there is no parameter ${keys[0]}` : WORDS[String(path[0])]!,
    );
  }
  const { search, sort, limit, after } = data;
  const column = sort === 'name' || sort === '-name' ? 'name' : 'city';
  const order = sort.startsWith('-') ? 'desc' : 'asc';
  return { search, sort: { column, order }, limit, after: readCursor(after, sort) };
}

/** The cursor of the next page. */
export function cursorAfter(
  { sort }: SchoolQuery,
  school: { id: string; name: string; city: string },
): string {
  const cursor = [`${sort.order === 'desc' ? '-' : ''}${sort.column}`, school[sort.column], school.id];
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function readCursor(text: string | undefined, sort: string): SchoolQuery['after'] {
  if (text === undefined) return undefined;
  const { data } = Cursor.safeParse(parse(Buffer.from(text, 'base64url').toString()));
  if (data?.[0] !== sort || data.join('').includes('\0')) throw invalid(WORDS['after']!);
  const [, value, id] = data;
  return { value, id };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const WORDS: Readonly<Record<string, string>> = {
  search: 'give search at most 100 characters, and no control characters',
  sort: `give sort as ${SORTS.join(', ')}`,
  limit: 'give limit as a number from 1 to 100',
  after: 'give after as the previous page returned it, with the same sort',
};

function invalid(remedy: string): ActionError {
  return new ActionError(422, 'query_invalid', `The query is wrong: ${remedy}.`);
}

function parameter(name: string, description: string, schema: object): object {
  return { name, in: 'query', description, schema };
}
