import type { Gate, User } from '../contracts/index.ts';
import type { Values } from './declare.ts';
import type { authServerOptions, TokenClaims } from './options.ts';
import type { ResolvedResource } from './resources.ts';
import type { Scope } from './scopes.ts';

export type { ResolvedResource } from './resources.ts';

/** The options, checked and with their defaults, so that later code has no defaults of its own. Durations are in seconds. */
export interface ResolvedOptions<
  P extends string = string,
  R extends string = string,
  U extends User = User,
  S extends object = object,
> extends Omit<
  Values<ReturnType<typeof authServerOptions<P, R, U, S, string>>>,
  'gate' | 'keyEncryptionKey' | 'mountPath' | 'resources' | 'scopes' | 'tokenClaims'
> {
  readonly origin: string;
  /** The issuer's path without a trailing slash, in front of the paths of all URLs of the server: `''` or `/auth`. */
  readonly basePath: string;
  /** The prefix that is removed from the path of a request. */
  readonly mountPath: string;
  readonly secure: boolean;
  readonly gate: Gate<P, R, S>;
  /** Called with users of the option `users` only, which makes dropping the type parameter `U` safe. */
  readonly tokenClaims: TokenClaims | undefined;
  /** The scopes of all APIs, each name once: those that clients can be registered for. */
  readonly scopes: ReadonlyMap<string, Scope<P>>;
  /** All APIs by URL, the default one first. */
  readonly resources: ReadonlyMap<string, ResolvedResource<P>>;
  /** Newest first; empty: the keys are stored unencrypted. */
  readonly keyEncryptionKey: readonly string[];
}
