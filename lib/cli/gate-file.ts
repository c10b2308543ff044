import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { AuthServerOptions, Feature, Gate, Resource, Scope, UserStore } from 'koa-gatehouse';

import { UsageError } from './failure.ts';

/** The exports of a gate file: a module of the host with its permissions, roles, scopes, APIs, features, lifetimes and users. */
export interface GateFile {
  readonly gate: Gate;
  readonly scopes?: Readonly<Record<string, Scope>>;
  readonly resources?: Readonly<Record<string, Resource>>;
  readonly features?: readonly Feature[];
  readonly lifetimes?: NonNullable<AuthServerOptions['tokens']>['lifetimes'];
  readonly users?: Pick<UserStore, 'find'>;
}

/** Loads a module that exports `gate`, and optionally `scopes`, `resources`, `features`, `lifetimes` and `users`: the options of the servers. */
export async function readGateFile(file: string): Promise<GateFile> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`--gate: there is no file ${path}.`);
  const url = pathToFileURL(path).href;
  let module: Partial<GateFile>;
  try {
    module = (await import(url)) as Partial<GateFile>;
  } catch (cause) {
    throw new UsageError(`--gate: ${file} cannot be loaded: ${(cause as Error).message}`, { cause });
  }
  const { features, gate, lifetimes, resources, scopes, users } = module;
  if (gate === undefined) {
    throw new UsageError(`--gate: ${file} has to export \`gate\`, made by defineGate().`);
  }
  if (users !== undefined && (Array.isArray(users) || typeof users.find !== 'function')) {
    throw new UsageError(`--gate: ${file} exports \`users\` without the method find(id).`);
  }
  return {
    gate,
    ...(scopes && { scopes }),
    ...(resources && { resources }),
    ...(features && { features }),
    ...(lifetimes && { lifetimes }),
    ...(users && { users }),
  };
}

type GivenNames = Partial<
  Record<'roles' | 'permissions' | 'scopes' | 'users', readonly string[] | undefined>
>;

/** The notes about names that were not checked, because there is no gate file, or it does not export what is needed for the check. */
export function uncheckedNames(
  names: GateFile | undefined,
  { roles = [], permissions = [], scopes = [], users = [] }: GivenNames,
): readonly string[] {
  const unchecked = names
    ? [
        ['exports neither `scopes` nor `resources`', names.scopes || names.resources ? [] : scopes] as const,
        ['does not export `users`', names.users ? [] : users] as const,
      ]
    : [['is missing', [...roles, ...permissions, ...scopes, ...users]] as const];
  return unchecked
    .filter(([, given]) => given.length > 0)
    .map(
      ([why, given]) =>
        `Not checked, because ${names ? 'the file of --gate' : '--gate'} ${why}: ${given.join(', ')}.`,
    );
}
