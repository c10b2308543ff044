/** A part of an OpenAPI document. */
export type OpenApiPart = Readonly<Record<string, unknown>>;

/**
 * A path item: operations by method in lower case, and members for all of them, such as `parameters` (OpenAPI 3.1 section
 * 4.8.9).
 */
export type OpenApiPath = Readonly<Record<string, OpenApiPart | readonly OpenApiPart[] | string>>;

export function isPart(value: unknown): value is OpenApiPart {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of a path that are operations. */
export const METHODS: ReadonlySet<string> = new Set([
  'get',
  'put',
  'post',
  'delete',
  'patch',
  'head',
  'options',
]);

/** The content of a JSON body. */
export function json(schema: OpenApiPart): OpenApiPart {
  return { 'application/json': { schema } };
}

/** An object with these members and no others. All members are required except the optional ones. */
export function object(properties: OpenApiPart, optional: readonly string[] = []): OpenApiPart {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', required, properties, additionalProperties: false };
}

export function parameter(name: ParameterName): OpenApiPart {
  return { $ref: `#/components/parameters/${name}` };
}

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const textOrNull = { type: ['string', 'null'] };

const PROBLEM = {
  type: 'object',
  description: 'A problem (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'code', 'message'],
  properties: {
    type: { type: 'string', format: 'uri-reference' },
    title: text,
    status: { type: 'integer' },
    detail: { ...text, description: 'What is wrong, and what to do.' },
    code: { ...text, description: 'Stable, for programs.' },
    message: { ...text, description: 'The same as `detail`.' },
    reference: { ...text, description: 'The request id, to find a server error in the log.' },
    permission: { ...text, description: 'The permission that is missing.' },
    'violated-policies': { ...texts, description: 'The limits of requests that are reached.' },
    errors: {
      type: 'array',
      description: 'Each mistake in the body.',
      items: {
        type: 'object',
        properties: {
          pointer: { ...text, description: 'Where, as a JSON Pointer: `#/name`.' },
          message: text,
        },
      },
    },
  },
};

const SOURCE = {
  anyOf: [
    { type: 'object', required: ['type'], properties: { type: { const: 'direct' } } },
    { type: 'object', required: ['type', 'role'], properties: { type: { const: 'role' }, role: text } },
  ],
};

const SCHEMA = { type: 'object', description: 'A JSON Schema, draft 2020-12.' };

export const SCHEMAS: Readonly<Record<string, OpenApiPart>> = {
  Problem: PROBLEM,
  Identity: object({
    type: { enum: ['user', 'client'] },
    id: text,
    name: textOrNull,
    email: textOrNull,
    roles: texts,
    permissions: { ...texts, description: 'What the caller may do with this token.' },
    permission_sources: {
      type: 'object',
      description: 'The sources of each permission.',
      additionalProperties: { type: 'array', items: SOURCE },
    },
    withheld_permissions: { ...texts, description: 'The permissions that the scopes of this token exclude.' },
    scopes: texts,
    client_id: {
      ...textOrNull,
      description: 'The client that presented the token. `null`: the request was made in a login session.',
    },
  }),
  Action: object(
    {
      type: text,
      name: text,
      level: { enum: ['collection', 'instance'] },
      title: text,
      description: textOrNull,
      permission: text,
      checksObject: {
        type: 'boolean',
        description:
          'Whether a rule decides on which objects the caller may run it: on others, the answer is 403.',
      },
      atomic: { type: 'boolean', description: 'Whether it supports atomic bulks.' },
      urls: {
        type: 'object',
        required: ['execute', 'bulk'],
        properties: { execute: text, bulk: text },
      },
      input: SCHEMA,
      output: SCHEMA,
    },
    ['input', 'output'],
  ),
};

type ParameterName = 'id' | 'idempotencyKey';

export const PARAMETERS: Readonly<Record<ParameterName, OpenApiPart>> = {
  id: {
    name: 'id',
    in: 'path',
    required: true,
    description: 'Of the object.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the request safe to repeat: for 24 hours, a request with the same key gets the first response, with the header field Idempotent-Replayed. A key belongs to one request; with another body it is refused with 409.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
};
