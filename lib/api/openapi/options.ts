import type { Gate } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import { objectOrFalse, optional } from '../../options/declare.ts';
import type { Check, Given, Values } from '../../options/declare.ts';
import { boolean, oneOf, text } from '../../options/values.ts';
import { isPart, METHODS } from './components.ts';
import type { OpenApiPath } from './components.ts';

type Paths = Readonly<Record<string, OpenApiPath>>;

const isPaths: Check<Paths> = (place, given) => {
  if (isPart(given)) return given;
  throw new ConfigError(
    place,
    "pass an object with the paths as keys, such as { '/schools': { get: { ... } } }",
  );
};

const OPENAPI = {
  /** @default 'API' */
  title: optional(text(), 'API'),
  /** The version of the API, not of the server. @default '1' */
  version: optional(text(), '1'),
  description: optional(text()),
  /**
   * Who may read the description. With `guarded`, callers with a valid access token see the actions that they may run; where
   * `swagger-ui-dist` is installed, a browser can open the page `/docs`, which shows these actions after "Authorize". With `public`,
   * everyone sees the names, schemas and permissions of all actions. @default 'guarded'
   */
  access: optional(oneOf('public', 'guarded'), 'guarded'),
  /**
   * Whether `/docs` is Swagger UI, in which a developer signs in as an app and tries calls. It needs the package `swagger-ui-dist`, whose
   * dependency `@scarf/scarf` counts installations; turn that off with `SCARF_ANALYTICS=false`. With `false`, `/docs` is a list of the
   * operations.
   * @default whether that package is installed
   */
  viewer: optional(boolean),
  /**
   * The routes that you add, by their path below the prefix, such as `/schools/{id}`. The responses of the guard are added to their
   * responses. The routes may refer to `#/components/schemas/Problem`. An operation with `'x-permission': { name: 'view_schools' }` is
   * shown with this permission, which the gate has to define; a guarded description shows the operation only to callers who have the
   * permission.
   */
  paths: optional(isPaths, {}),
};

/** The parts of the API's description that the host defines. */
export interface OpenApiOptions extends Given<typeof OPENAPI> {}

/** The options of the description, checked and with the defaults. */
export type Description = Values<typeof OPENAPI>;

/** `undefined` when there is no description. */
export const openapi: Check<OpenApiOptions | false, Description | undefined> = objectOrFalse(OPENAPI);

/**
 * Checks the option `openapi.paths`.
 *
 * @throws ConfigError with the remedy
 */
export function checkPaths(paths: Paths, gate: Pick<Gate, 'permissions'>): void {
  for (const [path, item] of Object.entries<unknown>(paths)) checkPath(path, item, gate);
}

function checkPath(path: string, item: unknown, gate: Pick<Gate, 'permissions'>): void {
  const option = `openapi.paths.${path}`;
  if (!path.startsWith('/')) {
    throw new ConfigError(option, 'begin the path with a slash, and leave the prefix of the API out');
  }
  if (!isPart(item)) {
    throw new ConfigError(option, 'pass an object with the operations by method, such as { get: { ... } }');
  }
  for (const [name, member] of Object.entries(item)) {
    if (METHODS.has(name)) checkOperation(`${option}.${name}`, member, gate);
    else if (METHODS.has(name.toLowerCase())) {
      throw new ConfigError(`${option}.${name}`, 'write the method in lower case');
    }
  }
}

/** Checks the permission because a guarded description shows an operation without one to every caller. */
function checkOperation(option: string, operation: unknown, gate: Pick<Gate, 'permissions'>): void {
  if (!isPart(operation)) {
    throw new ConfigError(
      option,
      "pass an operation, such as { summary: 'List schools', responses: { ... } }",
    );
  }
  const permission = operation['x-permission'];
  if (permission === undefined) return;
  const name = isPart(permission) ? permission['name'] : undefined;
  if (typeof name === 'string' && Object.hasOwn(gate.permissions, name)) return;
  throw new ConfigError(
    `${option}.x-permission`,
    "name a permission of the gate, such as { name: 'view_schools' }",
  );
}
