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

/** An object with these members and no others. All of them are required but the optional ones. */
export function object(properties: OpenApiPart, optional: readonly string[] = []): OpenApiPart {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', required, properties, additionalProperties: false };
}

/** A response with `data`. */
export function data(description: string, schema: OpenApiPart): OpenApiPart {
  return {
    description,
    content: json({ type: 'object', required: ['data'], properties: { data: schema } }),
  };
}

export function parameter(name: ParameterName): OpenApiPart {
  return { $ref: `#/components/parameters/${name}` };
}

/** References to responses that are problems, by status. */
export function problemResponses(names: readonly ProblemName[]): OpenApiPart {
  return Object.fromEntries(
    names.map((name) => [PROBLEMS[name][0], { $ref: `#/components/responses/${name}` }]),
  );
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

const PROBLEMS = {
  BodyInvalid: [400, 'The body or the Idempotency-Key cannot be read.'],
  Unauthorized: [401, 'The access token is missing or invalid: see WWW-Authenticate.'],
  PermissionMissing: [403, 'The caller lacks the permission, or the scopes of the token exclude it.'],
  NotFound: [404, 'There is no such action, or no such object.'],
  Conflict: [409, 'The current state does not allow it, or the Idempotency-Key belongs to another request.'],
  BodyTooLarge: [413, 'The body is too large.'],
  WrongMediaType: [415, 'The body is not application/json.'],
  InputInvalid: [422, 'The body does not match the schema: `errors` lists each mistake.'],
  ServerFault: [500, 'A server error. Give the `reference` when you report it.'],
  Unavailable: [503, 'The server cannot answer right now: try again after the time in Retry-After.'],
} as const;

export type ProblemName = keyof typeof PROBLEMS;

export const RESPONSES: Readonly<Record<string, OpenApiPart>> = Object.fromEntries(
  Object.entries(PROBLEMS).map(([name, [, description]]) => [name, problem(description)]),
);

/** The response of an API that limits the number of requests (draft-ietf-httpapi-ratelimit-headers-11). */
export const TOO_MANY_REQUESTS_RESPONSE: OpenApiPart = {
  ...problem('A limit is reached: try again after the time in Retry-After.'),
  headers: {
    'Retry-After': { description: 'In seconds.', schema: { type: 'integer' } },
    'RateLimit-Policy': {
      description: 'Each limit, with its requests and its window in seconds: `"user";q=600;w=60`.',
      schema: text,
    },
    RateLimit: {
      description: 'What is left of each limit, and for how many seconds: `"user";r=0;t=30`.',
      schema: text,
    },
  },
};

/** The problems of operations that read. */
export const READ_PROBLEMS: readonly ProblemName[] = ['Unauthorized', 'ServerFault', 'Unavailable'];

/** The problems of operations that write. */
export const WRITE_PROBLEMS: readonly ProblemName[] = Object.keys(PROBLEMS) as ProblemName[];

function problem(description: string): OpenApiPart {
  return {
    description,
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}
