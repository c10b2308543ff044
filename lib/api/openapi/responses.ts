import { json } from './components.ts';
import type { OpenApiPart } from './components.ts';

/** A response with `data`. */
export function data(description: string, schema: OpenApiPart): OpenApiPart {
  return {
    description,
    content: json({ type: 'object', required: ['data'], properties: { data: schema } }),
  };
}

const RETRY_AFTER: OpenApiPart = {
  'Retry-After': { description: 'In seconds.', schema: { type: 'integer' } },
};

const CHALLENGE: OpenApiPart = {
  'WWW-Authenticate': {
    description: 'What token is needed (RFC 6750 section 3).',
    schema: { type: 'string' },
  },
};

/** The header of a response that may be the response to an earlier request with the same `Idempotency-Key`. */
export const REPLAYED: OpenApiPart = {
  'Idempotent-Replayed': {
    description: 'This is the response to an earlier request with the same Idempotency-Key.',
    schema: { const: 'true' },
  },
};

const PROBLEMS = {
  BadRequest: [
    400,
    'The body, the Idempotency-Key or the URL cannot be read, or the action refuses the request.',
    REPLAYED,
  ],
  Unauthorized: [401, 'The access token is missing or invalid: see WWW-Authenticate.', CHALLENGE],
  PermissionMissing: [
    403,
    'The caller lacks the permission, or the scopes of the token exclude it: then WWW-Authenticate names those that are needed.',
    { ...CHALLENGE, ...REPLAYED },
  ],
  NotFound: [404, 'There is no such action, or no such object.', REPLAYED],
  BodyTimeout: [408, 'The body was not received in time: send the request again.', {}],
  Conflict: [
    409,
    'The current state does not allow it, or the Idempotency-Key belongs to another request. With Retry-After: the first request with the key is still running.',
    { ...RETRY_AFTER, ...REPLAYED },
  ],
  BodyTooLarge: [413, 'The body is too large.', {}],
  WrongMediaType: [415, 'The body is not application/json.', {}],
  InputInvalid: [422, 'The body does not match the schema: `errors` lists each mistake.', REPLAYED],
  ActionRefused: ['4XX', 'The action refuses the request: `code` says why.', REPLAYED],
  ServerFault: [500, 'A server error. Give the `reference` when you report it.', {}],
  Unavailable: [
    503,
    'The server cannot answer right now: try again after the time in Retry-After.',
    RETRY_AFTER,
  ],
} as const;

/** The refusal of a request in a login session that no page of the API's origin has made. */
const PAGE_REFUSED = [
  403,
  'No page of this origin has made the request, or its browser does not say so.',
  {},
] as const;

const ALL = { ...PROBLEMS, PageRefused: PAGE_REFUSED };

export type ProblemName = keyof typeof ALL;

/** References to responses that are problems, by status. */
export function problemResponses(names: readonly (ProblemName | 'TooManyRequests')[]): OpenApiPart {
  return Object.fromEntries(
    names.map((name) => [
      name === 'TooManyRequests' ? 429 : ALL[name][0],
      { $ref: `#/components/responses/${name}` },
    ]),
  );
}

/**
 * The responses that are problems.
 *
 * @param isLimited - whether the number of requests is limited (draft-ietf-httpapi-ratelimit-headers-11); the number of streams always is
 * @param hasSession - whether the API accepts login sessions
 */
export function problemComponents(isLimited: boolean, hasSession: boolean): Record<string, OpenApiPart> {
  return {
    ...Object.fromEntries(
      Object.entries(hasSession ? ALL : PROBLEMS).map(([name, [, description, headers]]) => [
        name,
        problem(description, headers),
      ]),
    ),
    TooManyRequests: problem('A limit is reached: try again after the time in Retry-After.', {
      ...RETRY_AFTER,
      ...(isLimited && RATE_LIMIT),
    }),
  };
}

const RATE_LIMIT: OpenApiPart = {
  'RateLimit-Policy': {
    description: 'Each limit, with its requests and its window in seconds: `"user";q=600;w=60`.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'What is left of each limit, and for how many seconds: `"user";r=0;t=30`.',
    schema: { type: 'string' },
  },
};

/** The problems of operations that read. */
export const READ_PROBLEMS = ['BadRequest', 'Unauthorized', 'ServerFault', 'Unavailable'] as const;

/** The problems of operations that write. */
export const WRITE_PROBLEMS = Object.keys(PROBLEMS) as readonly (keyof typeof PROBLEMS)[];

function problem(description: string, headers: OpenApiPart): OpenApiPart {
  return {
    description,
    ...(Object.keys(headers).length > 0 && { headers }),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}
