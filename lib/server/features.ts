import { featuresOf } from '../features/known.ts';
import type { Logger } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { ImportConsents } from '../clients/consents.ts';
import type { FindForeignRefreshToken } from '../engine/request.ts';
import type { TokenForm } from '../features/tokens.ts';
import type { ForeignAccessTokens, ForeignTokens } from '../token/foreign-tokens.ts';
import type { AuthServer } from './auth-server.ts';
import type { Core, SourceCore } from '../features/core.ts';
import type { ClientSourceHooks } from '../clients/sources.ts';
import type { Feature, Installed } from '../features/feature.ts';

/** A feature on a server. */
export interface ServerFeature extends Installed {
  readonly name: string;
  readonly feature: Feature;
}

/** Makes what the sources of clients of the features do. */
export async function openClientSources(core: SourceCore): Promise<readonly ClientSourceHooks[]> {
  const opened = featuresOf(core.options).map(async ({ openClientSources: open }) => open?.(core) ?? []);
  return (await Promise.all(opened)).flat();
}

/** Makes the parts of the features, in the order in which they are given. */
export async function installFeatures(core: Core): Promise<readonly ServerFeature[]> {
  return Promise.all(
    featuresOf(core.options).map(async (feature) =>
      Object.assign({ name: feature.name, feature }, await feature.install(core)),
    ),
  );
}

/** The tokens of other servers that features know. The tokens of the server are made with them before the features are. */
export class TokensOfFeatures implements ForeignTokens {
  readonly accessTokens: ForeignAccessTokens[] = [];
  readonly refreshTokens: FindForeignRefreshToken[] = [];

  /** @returns the forms of tokens that are used otherwise than those of a server */
  add(features: readonly ServerFeature[]): readonly TokenForm[] {
    const forms: TokenForm[] = [];
    for (const { findRefreshToken, tokens } of features) {
      if (findRefreshToken) this.refreshTokens.push(findRefreshToken);
      if (!tokens) continue;
      if ('verify' in tokens) this.accessTokens.push(tokens);
      else forms.push(tokens);
    }
    return forms;
  }
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

/** Makes `auth.use()`. */
export function useOf(features: readonly ServerFeature[]): AuthServer['use'] {
  return <Api extends object>(feature: Feature<Api>) => {
    const installed = features.find((one) => one.feature === feature);
    if (!installed) throw new ConfigError('use()', 'pass a value that the option features has');
    return (installed.api ?? {}) as Api;
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
