import type { Gate } from '../../contracts/index.ts';
import { ConfigError } from '../../errors.ts';
import { checkKnownOptions } from '../../options/known-options.ts';
import { boolean } from '../../options/values.ts';
import { isPart, METHODS } from './components.ts';
import type { OpenApiOptions } from './document.ts';

const OPTIONS: Readonly<Record<keyof OpenApiOptions, true>> = {
  title: true,
  version: true,
  description: true,
  access: true,
  viewer: true,
  paths: true,
};

/**
 * Checks the option `openapi` of `createApiRouter()`.
 *
 * @throws ConfigError with the remedy
 */
export function checkOpenApiOptions(options: OpenApiOptions, gate: Pick<Gate, 'permissions'>): void {
  const { access, paths = {}, viewer, ...texts } = checkKnownOptions(options, OPTIONS, 'openapi');
  for (const [name, text] of Object.entries<unknown>(texts)) {
    if (text === undefined || (typeof text === 'string' && text.trim() !== '')) continue;
    throw new ConfigError(`openapi.${name}`, 'give a text that is not empty');
  }
  if (access !== undefined && access !== 'public' && access !== 'guarded') {
    throw new ConfigError('openapi.access', "give 'public' or 'guarded'");
  }
  if (viewer !== undefined) boolean('openapi.viewer', viewer);
  if (!isPart(paths)) {
    throw new ConfigError(
      'openapi.paths',
      "pass an object with the paths as keys, such as { '/schools': { get: { ... } } }",
    );
  }
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
