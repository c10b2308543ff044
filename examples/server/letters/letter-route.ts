import type { Knex } from 'knex';
import type { Context } from 'koa';
import { ActionError, ConfigError } from 'koa-gatehouse';
import type { OpenApiPath } from 'koa-gatehouse';
import type { PaperFormat } from 'koa-gatehouse/html-pdf';
import { z } from 'zod';

import { findSchool } from '../actions/school.ts';
import type { School } from '../schools.ts';
import type { Letters } from './letters.ts';

const FORMATS = [
  'a0',
  'a1',
  'a2',
  'a3',
  'a4',
  'a5',
  'a6',
  'letter',
  'legal',
  'tabloid',
  'ledger',
] as const satisfies readonly PaperFormat[];

const Query = z.strictObject({ format: z.string().toLowerCase().pipe(z.enum(FORMATS)).default('a4') });

/** Answers with the enrolment letter of a school. */
export async function sendLetter(
  ctx: Context & { params: Record<string, string> },
  { letters, knex }: { readonly letters: Letters; readonly knex: Knex },
): Promise<void> {
  const format = readFormat(ctx.query);
  const school = await findSchool(knex, ctx.params['id']!);
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  try {
    const body = Buffer.from(await print(school));
    ctx.attachment(`enrolment-letter-${school.id}.pdf`, { type: 'inline' });
    ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
    ctx.body = body;
  } catch (error) {
    // The client has closed the connection: there is nobody to answer.
    if (!gone.signal.aborted) throw error;
  }

  async function print(one: School): Promise<Uint8Array> {
    try {
      return await letters.print(one, { format, signal: gone.signal });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const remedy = error.message
        .replace(/^createHtmlToPdf\(\{ executablePath \}\):/, 'CHROMIUM:')
        .replace(/^createHtmlToPdf\(\{ sandbox \}\):/, 'CHROMIUM_SANDBOX:');
      const problem = { expose: true, code: 'letters_unavailable' };
      return ctx.throw(501, `This server cannot make letters. ${remedy}.`, problem);
    }
  }
}

/** @throws ActionError `query_invalid`, 422, for an unknown paper format or parameter */
function readFormat(query: Readonly<Record<string, unknown>>): PaperFormat {
  const { data, error } = Query.safeParse({ ...query });
  if (data) return data.format;
  const [issue] = error.issues;
  const remedy =
    issue?.code === 'unrecognized_keys'
      ? `there is no parameter ${issue.keys[0]}`
      : `give format as one of ${FORMATS.join(', ')}`;
  throw new ActionError(422, 'query_invalid', `The query is wrong: ${remedy}.`);
}

/** The route, as OpenAPI describes it. */
export const LETTER: OpenApiPath = {
  get: {
    operationId: 'getEnrolmentLetter',
    summary: 'The enrolment letter of a school, a PDF',
    tags: ['school'],
    'x-permission': { name: 'view_schools', description: 'View schools' },
    parameters: [
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
      {
        name: 'format',
        in: 'query',
        description: 'The paper size. Default: a4.',
        schema: { enum: FORMATS },
      },
    ],
    responses: {
      200: { description: 'The letter.', content: { 'application/pdf': {} } },
      403: { $ref: '#/components/responses/PermissionMissing' },
      404: { $ref: '#/components/responses/NotFound' },
      422: { $ref: '#/components/responses/InputInvalid' },
      501: {
        description: 'Chromium is not installed on the server.',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  },
};
