import type { Seconds } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { Scope } from './scopes.ts';
import type { SigningAlgorithm } from './tokens.ts';

/** What clients that sign users in learn about them: data of the feature that brings it. */
export interface AboutUser {
  /** The scope by which a client signs its user in. Every other scope needs it. */
  readonly signIn: string;
  /**
   * All scopes about who the user is, by name. They permit nothing at an API, and no scope of an API may have the name of one of them.
   */
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
  /** The path of the endpoint that these scopes are for, below the issuer. */
  readonly path: string;
  /** The algorithm of the key that signs what the client learns, and for how long such signatures are valid. */
  readonly key: { readonly algorithm: SigningAlgorithm; readonly lifetime: Seconds };
}

/** What clients learn about users on one server. */
export interface ResolvedAboutUser extends Omit<AboutUser, 'path' | 'scopes'> {
  /** The URL of the endpoint: the audience of tokens that may read it, and its name in consents. */
  readonly resource: string;
  readonly scopes: ReadonlyMap<string, Scope<never>>;
}

/** The scopes about who the user is, in the form of an API's scopes. */
export function scopesAboutUser({ scopes }: Pick<AboutUser, 'scopes'>): ResolvedAboutUser['scopes'] {
  return new Map(
    [...scopes].map(([name, { description }]) => [name, { description, permissions: [], optional: false }]),
  );
}

/**
 * @param features - at most one of them has `aboutUser`
 * @throws ConfigError when an API has a scope with the name of a scope about the user
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
