import type { Gate } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import type { Action } from '../actions/define-action.ts';
import { actionPaths } from './action-paths.ts';
import { actionSchemas } from './action-schemas.ts';
import {
  json,
  METHODS,
  PARAMETERS,
  problemResponses,
  READ_PROBLEMS,
  RESPONSES,
  SCHEMAS,
} from './components.ts';
import type { OpenApiPart, OpenApiPath } from './components.ts';

/** What a description of the API says besides what the server knows. */
export interface OpenApiOptions {
  /** @default 'API' */
  readonly title?: string;
  /** Of the API, not of the server. @default '1' */
  readonly version?: string;
  readonly description?: string;
  /**
   * Who may read the description and the page. `guarded`: callers with a good access token, who see the actions that they may
   * run; a browser cannot open the page then, because it sends no token. `public`: everybody, and they see the names, the
   * schemas and the permissions of all actions. @default 'guarded'
   */
  readonly access?: 'public' | 'guarded';
  /**
   * The routes that you add, by their path below the prefix, such as `/schools/{id}`. What the guard answers is added to
   * their responses. They may refer to `#/components/schemas/Problem`. An operation with
   * `'x-permission': { name: 'view_schools' }` is shown with this permission, and in a guarded description only to callers who
   * hold it.
   */
  readonly paths?: Readonly<Record<string, OpenApiPath>>;
}

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

export interface Described {
  readonly actions: readonly Action[];
  readonly gate: Pick<Gate, 'permissions'>;
  readonly issuer: string;
  /** Of the API. */
  readonly baseUrl: string;
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  /** The most items of a bulk. */
  readonly maximum: number;
}

/**
 * Describes an API (OpenAPI 3.1).
 *
 * @throws ConfigError when `paths` has one that the API has itself
 */
export function describeApi(
  { actions, gate, issuer, baseUrl, scopes, maximum }: Described,
  options: OpenApiOptions,
): OpenApiDocument {
  const { title = 'API', version = '1', description, paths = {} } = options;
  const ownPaths = { ...OWN_PATHS, ...actionPaths(actions, { gate, maximum }) };
  const taken = Object.keys(paths).find((path) => path in ownPaths);
  if (taken !== undefined)
    throw new ConfigError(
      `openapi.paths.${taken}`,
      'the API router describes this path itself; leave it out',
    );
  return {
    openapi: '3.1.1',
    info: { title, version, ...(description !== undefined && { description }) },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: baseUrl }],
    security: [{ oauth2: [] }, { bearer: [] }],
    paths: { ...ownPaths, ...withGuardsAnswers(paths) },
    components: {
      schemas: { ...SCHEMAS, ...actionSchemas(actions) },
      parameters: PARAMETERS,
      responses: RESPONSES,
      securitySchemes: securitySchemes(issuer, scopes),
    },
  };
}

/** The same without the actions and the operations of `paths` whose permission the caller lacks. */
export function describeApiTo(
  can: (permission: string) => boolean,
  described: Described,
  options: OpenApiOptions,
): OpenApiDocument {
  const actions = described.actions.filter(({ permission }) => can(permission));
  const mayCall = (operation: OpenApiPart) => {
    const name = permissionOf(operation);
    return name === undefined || !(name in described.gate.permissions) || can(name);
  };
  const paths = Object.entries(options.paths ?? {}).flatMap(([path, item]) => {
    const kept = Object.entries(item).filter(([method, part]) => !METHODS.has(method) || mayCall(part));
    const isHidden = kept.length < Object.keys(item).length && !kept.some(([method]) => METHODS.has(method));
    return isHidden ? [] : [[path, Object.fromEntries(kept)]];
  });
  return describeApi({ ...described, actions }, { ...options, paths: Object.fromEntries(paths) });
}

/** The name of the permission that an operation says it needs. */
function permissionOf(operation: OpenApiPart): string | undefined {
  const permission: unknown = operation['x-permission'];
  const name =
    typeof permission === 'object' && permission !== null && 'name' in permission && permission.name;
  return typeof name === 'string' ? name : undefined;
}

/** The permissions that decide what {@link describeApiTo} leaves out. */
export function permissionsOf(
  { actions, gate }: Pick<Described, 'actions' | 'gate'>,
  { paths = {} }: OpenApiOptions,
): readonly string[] {
  const ofPaths = Object.values(paths).flatMap((item) => Object.values(item).map(permissionOf));
  const names = new Set([...actions.map(({ permission }) => permission), ...ofPaths]);
  return Object.keys(gate.permissions).filter((name) => names.has(name));
}

function withGuardsAnswers(paths: Readonly<Record<string, OpenApiPath>>): Record<string, OpenApiPath> {
  return mapValues(paths, (methods) =>
    mapValues(methods, (operation) =>
      'responses' in operation
        ? {
            ...operation,
            responses: { ...problemResponses(READ_PROBLEMS), ...(operation['responses'] as object) },
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

/** The paths that every API has. The planned ones of the Objects API are not available, and not among them. */
const OWN_PATHS: Readonly<Record<string, OpenApiPath>> = {
  '/identity': {
    get: {
      operationId: 'identity',
      summary: 'The user or client of the token, and its permissions',
      tags: ['Identity'],
      responses: {
        200: data('The identity.', { $ref: '#/components/schemas/Identity' }),
        ...problemResponses(READ_PROBLEMS),
      },
    },
  },
  '/actions': {
    get: {
      operationId: 'listActions',
      summary: 'The actions that the caller may run',
      tags: ['Actions'],
      responses: {
        200: data('A list.', { type: 'array', items: { $ref: '#/components/schemas/Action' } }),
        ...problemResponses(READ_PROBLEMS),
      },
    },
  },
  '/actions/{type}': {
    get: {
      operationId: 'listActionsOfType',
      summary: 'The actions on one type of object that the caller may run',
      tags: ['Actions'],
      parameters: pathParameters('type'),
      responses: {
        200: data('A list.', { type: 'array', items: { $ref: '#/components/schemas/Action' } }),
        ...problemResponses([...READ_PROBLEMS, 'NotFound']),
      },
    },
  },
  '/actions/{type}/{action}': {
    get: {
      operationId: 'describeAction',
      summary: 'One action, with the JSON Schemas of its input and output',
      tags: ['Actions'],
      parameters: pathParameters('type', 'action'),
      responses: {
        200: data('The action, with `input` and `output`.', { $ref: '#/components/schemas/Action' }),
        ...problemResponses([...READ_PROBLEMS, 'PermissionMissing', 'NotFound']),
      },
    },
  },
};

function pathParameters(...names: string[]): OpenApiPart[] {
  return names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function data(description: string, schema: OpenApiPart): OpenApiPart {
  return {
    description,
    content: json({ type: 'object', required: ['data'], properties: { data: schema } }),
  };
}

/** How to get an access token, and how to send it. */
function securitySchemes(
  issuer: string,
  scopes: ReadonlyMap<string, { readonly description: string }>,
): OpenApiPart {
  const words = Object.fromEntries(Array.from(scopes, ([name, { description }]) => [name, description]));
  const tokenUrl = `${issuer}/oauth/token`;
  return {
    oauth2: {
      type: 'oauth2',
      description: 'An access token of a user or a client.',
      flows: {
        authorizationCode: {
          authorizationUrl: `${issuer}/oauth/authorize`,
          tokenUrl,
          refreshUrl: tokenUrl,
          scopes: words,
        },
        clientCredentials: { tokenUrl, scopes: words },
      },
    },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'An access token that you already have.',
    },
  };
}
