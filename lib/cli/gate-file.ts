import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { Gate, OptionTypes, Resource, Scope } from 'koa-gatehouse';

import { UsageError } from './failure.ts';

/** The exports of a gate file: a module of the host with its permissions, roles, scopes, APIs, OpenID Connect and lifetimes. */
export interface GateFile {
  readonly gate: Gate;
  readonly scopes?: Readonly<Record<string, Scope>>;
  readonly resources?: Readonly<Record<string, Resource>>;
  readonly openid?: boolean | OptionTypes.OpenIdOptions;
  readonly lifetimes?: OptionTypes.LifetimePreset | OptionTypes.Lifetimes;
}

/** Loads a module that exports `gate`, and optionally `scopes`, `resources`, `openid` and `lifetimes`: the options of the servers. */
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
  const { gate, lifetimes, openid, resources, scopes } = module;
  if (gate === undefined) {
    throw new UsageError(`--gate: ${file} has to export \`gate\`, made by defineGate().`);
  }
  return {
    gate,
    ...(scopes && { scopes }),
    ...(resources && { resources }),
    ...(openid && { openid }),
    ...(lifetimes && { lifetimes }),
  };
}

type GivenNames = Partial<Record<'roles' | 'permissions' | 'scopes', readonly string[] | undefined>>;

/** The note about names that were not checked, because no gate file was given. */
export function uncheckedNames(
  names: GateFile | undefined,
  { roles = [], permissions = [], scopes = [] }: GivenNames,
): readonly string[] {
  const unchecked = [
    ...(names ? [] : [...roles, ...permissions]),
    ...(names?.scopes || names?.resources ? [] : scopes),
  ];
  if (unchecked.length === 0) return [];
  return [`Not checked, because --gate is missing: ${unchecked.join(', ')}.`];
}
