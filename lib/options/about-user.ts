import type { Seconds } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { Scope } from './scopes.ts';
import type { SigningAlgorithm } from './tokens.ts';

/** What clients that sign users in learn about them: data of the feature that brings it. */
export interface AboutUser {
  /** The scope by which a client signs its user in. It needs it for each of the others. */
  readonly signIn: string;
  /** All scopes about who the user is, by name. They permit nothing at an API, and no scope of an API has the name of one. */
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  /** The path of the endpoint for which these scopes are, below the issuer. */
  readonly path: string;
  /** The key that signs what the client learns, and how long that is needed. */
  readonly key: { readonly algorithm: SigningAlgorithm; readonly lifetime: Seconds };
}

/** The same on a server. */
export interface ResolvedAboutUser extends Omit<AboutUser, 'path' | 'scopes'> {
  /** The URL of the endpoint: the audience of tokens that may read it, and the name of it in consents. */
  readonly resource: string;
  readonly scopes: ReadonlyMap<string, Scope<never>>;
}

/** The scopes about who the user is, as those of an API. */
export function scopesAboutUser({ scopes }: Pick<AboutUser, 'scopes'>): ResolvedAboutUser['scopes'] {
  return new Map(
    [...scopes].map(([name, { description }]) => [name, { description, permissions: [], optional: false }]),
  );
}

/**
 * @param features - of which one says something about users
 * @throws ConfigError when an API has a scope with the name of one about the user
 */
export function resolveAboutUser(
  features: readonly { readonly name: string; readonly aboutUser?: AboutUser }[],
  issuer: string,
  apis: Iterable<{ readonly resource: string; readonly scopes: ReadonlyMap<string, unknown> }>,
): ResolvedAboutUser | undefined {
  const feature = features.find((one) => one.aboutUser);
  if (!feature) return undefined;
  const { path, ...about } = feature.aboutUser!;
  for (const api of apis) {
    const taken = [...about.scopes.keys()].find((name) => api.scopes.has(name));
    if (taken !== undefined)
      throw new ConfigError(
        feature.name,
        `rename the scope "${taken}" of the API ${api.resource}: with this feature the name stands for a part of who the user is`,
      );
  }
  return { ...about, resource: issuer + path, scopes: scopesAboutUser(about) };
}
