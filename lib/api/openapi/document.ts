import type { ClientKinds } from '../../contracts/client-kinds.ts';
import type { Gate, Pages } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import type { Action } from '../actions/define-action.ts';
import { actionPaths } from './action-paths.ts';
import { actionSchemas } from './action-schemas.ts';
import { isPart, METHODS, PARAMETERS, SCHEMAS } from './components.ts';
import type { OpenApiPart, OpenApiPath } from './components.ts';
import type { Description } from './options.ts';
import { data, problemComponents, problemResponses, READ_PROBLEMS } from './responses.ts';
import type { ProblemName } from './responses.ts';

export interface OpenApiDocument {
  readonly openapi: '3.1.1';
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths: Readonly<Record<string, OpenApiPath>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, OpenApiPart>>;
    readonly parameters: Readonly<Record<string, OpenApiPart>>;
    readonly responses: Readonly<Record<string, OpenApiPart>>;
  } & OpenApiPart;
  readonly [member: string]: unknown;
}

export interface DescribedApi {
  readonly actions: readonly Action[];
  readonly gate: Pick<Gate, 'permissions'>;
  readonly issuer: string;
  /** The API as tokens name it. */
  readonly resource: string;
  /** The URL of the API. */
  readonly baseUrl: string;
  readonly scopes: ReadonlyMap<
    string,
    { readonly description: string; readonly optional?: boolean | undefined }
  >;
  /** The largest number of items of a bulk. */
  readonly maximum: (action: Action) => number;
  /** The kinds of clients that the server supports. */
  readonly clientKinds: Pick<ClientKinds, 'on' | 'firstCallOf'>;
  /** The pages of the server, for the look of the page. */
  readonly pages: Pick<Pages, 'brand' | 'look'>;
  /** Whether the API limits the number of requests. */
  readonly isLimited: boolean;
  /** The name of the cookie of a login session; `undefined` when the API accepts only tokens. */
  readonly sessionCookie: string | undefined;
  /** Where the viewer of the description receives authorization responses; `undefined` when there is no viewer. */
  readonly redirectUri?: string | undefined;
}

/**
 * Describes an API (OpenAPI 3.1).
 *
 * @throws ConfigError when `paths` contains a path of the API itself
 */
export function describeApi(
  described: DescribedApi,
  { description, paths, title, version }: Description,
): OpenApiDocument {
  const { actions, gate, baseUrl, maximum, isLimited, sessionCookie } = described;
  const ownPaths = { ...OWN_PATHS, ...actionPaths(actions, { gate, maximum }) };
  const conflict = Object.keys(paths).find((path) => path in ownPaths);
  if (conflict !== undefined)
    throw new ConfigError(
      `openapi.paths.${conflict}`,
      'the API router describes this path itself; leave it out',
    );
  const hasSession = sessionCookie !== undefined;
  const ofAll = problemResponses([
    ...(isLimited ? (['TooManyRequests'] as const) : []),
    ...(hasSession ? (['PageRefused'] as const) : []),
  ]);
  const allPaths = addResponses(
    { ...ownPaths, ...addResponses(paths, problemResponses(READ_PROBLEMS)) },
    ofAll,
  );
  return {
    openapi: '3.1.1',
    info: { title, version, ...(description !== undefined && { description }) },
    servers: [{ url: baseUrl }],
    security: [{ oauth2: [] }, { bearer: [] }, ...(hasSession ? [{ session: [] }] : [])],
    tags: tagsOf(allPaths),
    paths: allPaths,
    components: {
      schemas: { ...SCHEMAS, ...actionSchemas(actions) },
      parameters: PARAMETERS,
      responses: problemComponents(isLimited, hasSession),
      securitySchemes: securitySchemes(described),
    },
  };
}

/** Describes the API to a caller, without the actions and the operations of `paths` whose permission the caller lacks. */
export function describeApiTo(
  can: (permission: string) => boolean,
  described: DescribedApi,
  options: Description,
): OpenApiDocument {
  const actions = described.actions.filter(({ permission }) => can(permission));
  const mayCall = (operation: unknown): boolean => {
    const name = permissionOf(operation);
    return name === undefined || can(name);
  };
  const paths = Object.entries(options.paths).flatMap(([path, item]) => {
    const kept = Object.entries(item).filter(([method, part]) => !METHODS.has(method) || mayCall(part));
    const isHidden = kept.length < Object.keys(item).length && !kept.some(([method]) => METHODS.has(method));
    return isHidden ? [] : [[path, Object.fromEntries(kept)]];
  });
  return describeApi({ ...described, actions }, { ...options, paths: Object.fromEntries(paths) });
}

/** The name of the permission that an operation requires, by its `x-permission`. */
function permissionOf(operation: unknown): string | undefined {
  const permission = isPart(operation) ? operation['x-permission'] : undefined;
  const name = isPart(permission) ? permission['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** The permissions that decide what {@link describeApiTo} leaves out. */
export function permissionsOf(
  { actions, gate }: Pick<DescribedApi, 'actions' | 'gate'>,
  { paths }: Description,
): readonly string[] {
  const ofPaths = Object.values(paths).flatMap((item) => Object.values(item).map(permissionOf));
  const names = new Set([...actions.map(({ permission }) => permission), ...ofPaths]);
  return Object.keys(gate.permissions).filter((name) => names.has(name));
}

const TAGS: Readonly<Record<string, string>> = {
  Identity: 'Who the caller is.',
  Actions: 'What the caller may do.',
};

/** The tags of all operations, in the order of their first use. */
function tagsOf(paths: Readonly<Record<string, OpenApiPath>>): readonly OpenApiPart[] {
  const names = Object.values(paths)
    .flatMap((methods) => Object.values(methods).filter(isPart))
    .flatMap(({ tags }) => (Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : []));
  return [...new Set(names)].map((name) => (name in TAGS ? { name, description: TAGS[name] } : { name }));
}

/** Adds responses to every operation that does not describe them itself. */
function addResponses(
  paths: Readonly<Record<string, OpenApiPath>>,
  responses: OpenApiPart,
): Record<string, OpenApiPath> {
  return mapValues(paths, (methods) =>
    mapValues(methods, (operation) =>
      isPart(operation) && 'responses' in operation
        ? {
            ...operation,
            responses: { ...responses, ...(operation['responses'] as object) },
          }
        : operation,
    ),
  );
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

/** The paths of every API. Those of the Objects API are not included, because it is not available yet. */
const OWN_PATHS: Readonly<Record<string, OpenApiPath>> = {
  '/identity': reading({
    operationId: 'identity',
    summary: 'The user or client of the token, and its permissions',
    tags: ['Identity'],
    response: data('The identity.', { $ref: '#/components/schemas/Identity' }),
  }),
  '/actions': reading({
    operationId: 'listActions',
    summary: 'The actions that the caller may run',
    response: data('A list.', { type: 'array', items: { $ref: '#/components/schemas/Action' } }),
  }),
  '/actions/{type}': reading({
    operationId: 'listActionsOfType',
    summary: 'The actions on one type of object that the caller may run',
    parameters: ['type'],
    response: data('A list.', { type: 'array', items: { $ref: '#/components/schemas/Action' } }),
    problems: ['NotFound'],
  }),
  '/actions/{type}/{action}': reading({
    operationId: 'describeAction',
    summary: 'One action, with the JSON Schemas of its input and output',
    parameters: ['type', 'action'],
    response: data('The action, with `input` and `output`.', { $ref: '#/components/schemas/Action' }),
    problems: ['PermissionMissing', 'NotFound'],
  }),
};

function reading({
  parameters = [],
  problems = [],
  response,
  tags = ['Actions'],
  ...operation
}: {
  readonly operationId: string;
  readonly summary: string;
  readonly tags?: readonly string[];
  /** The names of the parameters in the path. */
  readonly parameters?: readonly string[];
  readonly response: OpenApiPart;
  readonly problems?: readonly ProblemName[];
}): OpenApiPath {
  const inPath = parameters.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return {
    get: {
      ...operation,
      tags,
      ...(inPath.length > 0 && { parameters: inPath }),
      responses: { 200: response, ...problemResponses([...READ_PROBLEMS, ...problems]) },
    },
  };
}

/** The security schemes: how to get an access token, how to send it, and who needs none. */
function securitySchemes({ issuer, redirectUri, scopes, sessionCookie }: DescribedApi): OpenApiPart {
  const descriptions = Object.fromEntries(
    Array.from(scopes, ([name, { description }]) => [name, description]),
  );
  const tokenUrl = `${issuer}/oauth/token`;
  return {
    oauth2: {
      type: 'oauth2',
      description:
        redirectUri === undefined
          ? 'An access token of a user or a client.'
          : `An access token of a user or a client. To get one on this page for a user, register the redirect URI ${redirectUri} for your app.`,
      flows: {
        authorizationCode: {
          authorizationUrl: `${issuer}/oauth/authorize`,
          tokenUrl,
          refreshUrl: tokenUrl,
          scopes: descriptions,
        },
        clientCredentials: { tokenUrl, scopes: descriptions },
      },
    },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'An access token that you already have.',
    },
    ...(sessionCookie !== undefined && {
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: sessionCookie,
        description:
          'For the pages of the platform itself: their browser sends the login session of its user, whose cookie may have another name.',
      },
    }),
  };
}
