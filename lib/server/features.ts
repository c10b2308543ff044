import { featuresOf } from '../features/known.ts';
import type { Logger } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { ImportConsents } from '../clients/consents.ts';
import type { TokenForm } from '../features/tokens.ts';
import type { AuthServer } from './auth-server.ts';
import type { Core, CoreBase } from '../features/core.ts';
import type { Feature, Installed, Opened } from '../features/feature.ts';

/** Parts of a feature on a server. */
export interface ServerFeature extends Opened, Installed {
  readonly name: string;
  readonly feature: Feature;
}

/** Makes the parts of the features that the core is made with, in the order in which the features are given. */
export async function openFeatures(base: CoreBase): Promise<readonly ServerFeature[]> {
  return partsOf(base, async ({ open }) => open?.(base));
}

/** Makes the parts of the features that are made on the core, in the same order. */
export async function installFeatures(core: Core): Promise<readonly ServerFeature[]> {
  return partsOf(core, async ({ install }) => install(core));
}

async function partsOf(
  { options }: CoreBase,
  make: (feature: Feature) => Promise<Opened | Installed | undefined>,
): Promise<readonly ServerFeature[]> {
  return Promise.all(
    featuresOf(options).map(async (feature) =>
      Object.assign({ name: feature.name, feature }, await make(feature)),
    ),
  );
}

/** What stores the consents that users have given elsewhere. `undefined`: no feature knows of any */
export function importConsentsOf(features: readonly ServerFeature[]): ImportConsents | undefined {
  const imports = features.flatMap(({ importConsents = [] }) => importConsents);
  if (imports.length === 0) return undefined;
  return async (...of) => {
    for (const importOf of imports) await importOf(...of);
  };
}

/** Starts the work of the features besides requests. @returns a function that stops it, and resolves when it has stopped */
export function runFeatures(features: readonly ServerFeature[], logger: Logger): () => Promise<void> {
  const stopping = new AbortController();
  const running = features.map(async ({ name, run }) =>
    run?.(stopping.signal).catch((error: unknown) =>
      logger.error({ err: error, feature: name }, 'feature failed'),
    ),
  );
  return async () => {
    stopping.abort();
    await Promise.all(running);
  };
}

/** The members that the features add to a server. @throws ConfigError when two add the same */
export function apiOf(features: readonly ServerFeature[], own: object): object {
  const added: Record<string, unknown> = {};
  for (const { api = {}, name } of features)
    for (const [member, value] of Object.entries(api)) {
      if (member in own || member in added)
        throw new ConfigError(
          'features',
          `${name}() adds the member ${member}, which the server has already`,
        );
      added[member] = value;
    }
  return added;
}

/** Makes `auth.featureMembers()`. */
export function featureMembersOf(features: readonly ServerFeature[]): AuthServer['featureMembers'] {
  return <Api extends object>(feature: Feature<Api>) => {
    const parts = features.filter((one) => one.feature === feature);
    if (parts.length === 0)
      throw new ConfigError('featureMembers()', 'pass a value that the option features has');
    return Object.assign({}, ...parts.map(({ api }) => api)) as Api;
  };
}

/** Makes `auth.revoke()`, which ends tokens of other forms too. */
export function createRevokeOf(
  revoke: AuthServer['revoke'],
  forms: readonly TokenForm[],
): AuthServer['revoke'] {
  return async (target) => {
    const { token } = Object(target) as { readonly token?: unknown };
    const form = typeof token === 'string' ? forms.find((one) => one.isWellFormed(token)) : undefined;
    if (form && (await form.end(token as string))) return;
    await revoke(target);
  };
}
