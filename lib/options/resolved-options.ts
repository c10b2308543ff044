import type { Context } from 'koa';

import type { Gate, User } from '../contracts/index.ts';
import type { Values } from './declare.ts';
import type { ResolvedAboutUser } from './about-user.ts';
import type { Authentication, authServerOptions } from './options.ts';
import type { ResolvedResource } from './resources.ts';
import type { Scope } from './scopes.ts';
import type { TokenClaimsFunction } from './tokens.ts';

export type { ResolvedResource } from './resources.ts';

type CheckedOptions<P extends string, R extends string, U extends User, S extends object> = Values<
  ReturnType<typeof authServerOptions<P, R, U, S, string>>
>;

/** The options, checked and with their defaults, so that later code has no defaults of its own. Durations are in seconds. */
export interface ResolvedOptions<
  P extends string = string,
  R extends string = string,
  U extends User = User,
  S extends object = object,
> extends Omit<
  CheckedOptions<P, R, U, S>,
  'gate' | 'login' | 'paths' | 'resources' | 'scopes' | 'secrets' | 'tokens'
> {
  readonly origin: string;
  /** The issuer's path without a trailing slash, in front of the paths of all URLs of the server: `''` or `/auth`. */
  readonly basePath: string;
  readonly secure: boolean;
  readonly gate: Gate<P, R, S>;
  /** `mount` is the prefix that is removed from the path of a request. */
  readonly paths: CheckedOptions<P, R, U, S>['paths'] & { readonly mount: string };
  /** The scopes of all APIs and those about who the user is, each name once. Clients can be registered for these scopes. */
  readonly scopes: ReadonlyMap<string, Scope<P>>;
  /** All APIs by URL, the default API first. */
  readonly resources: ReadonlyMap<string, ResolvedResource<P>>;
  /** `undefined` when no client learns who its users are. */
  readonly aboutUser: ResolvedAboutUser | undefined;
  /** `authenticationContext` is only called with users of the option `users`, so that the type parameter `U` can be dropped safely. */
  readonly login: Omit<CheckedOptions<P, R, U, S>['login'], 'authenticationContext'> & {
    readonly authenticationContext:
      | ((ctx: Context, user: User) => Authentication | undefined | Promise<Authentication | undefined>)
      | undefined;
  };
  /** `secrets.keyEncryptionKey` is empty where the keys are stored unencrypted. */
  readonly secrets: CheckedOptions<P, R, U, S>['secrets'] & { readonly keyEncryptionKey: readonly string[] };
  /** `claims` is only called with users of the option `users`, so that the type parameter `U` can be dropped safely. */
  readonly tokens: Omit<CheckedOptions<P, R, U, S>['tokens'], 'claims'> & {
    readonly claims: TokenClaimsFunction | undefined;
  };
}
