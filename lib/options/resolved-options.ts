import type { Configuration, Provider } from 'oidc-provider';

import type { ClientLifetimes, Interactions, User } from '../contracts/index.ts';
import type { ClientIdMetadata } from './client-id-metadata.ts';
import type { AuthServerOptions, Lifetimes, Scope, TokenClaims } from './options.ts';
import type { ResolvedRegistration } from './registration-options.ts';
import type { ResolvedDeviceAuthorization } from './device-options.ts';
import type { ResolvedThrottling } from './throttling-options.ts';

/** An API, checked and with its defaults. */
export interface ResolvedResource<P extends string = string> {
  /** Its URL. For the default API, the issuer. */
  readonly resource: string;
  readonly name: string;
  readonly scopes: ReadonlyMap<string, Scope<P>>;
  /** In seconds. */
  readonly lifetimes: Readonly<Record<keyof ClientLifetimes, number>>;
  /** The URL of its metadata (RFC 9728 section 3). `undefined`: not published, without the option `resources`. */
  readonly metadataUrl: string | undefined;
}

/** The options, checked and with their defaults, so that later code has no defaults of its own. */
export interface ResolvedOptions<
  P extends string = string,
  R extends string = string,
  U extends User = User,
> extends Readonly<
  Required<
    Pick<
      AuthServerOptions<P, R, U>,
      | 'users'
      | 'storage'
      | 'migrate'
      | 'gate'
      | 'privateKeyJwt'
      | 'requirePkce'
      | 'signingAlgorithm'
      | 'trustProxy'
      | 'logger'
    >
  >
> {
  readonly issuer: string;
  readonly origin: string;
  /** The issuer's path without a trailing slash, in front of the paths of all URLs of the server: `''` or `/auth`. */
  readonly basePath: string;
  /** The prefix that is removed from the path of a request. */
  readonly mountPath: string;
  readonly secure: boolean;
  /** `undefined`: the bundled pages. */
  readonly interactions: Interactions | undefined;
  readonly currentUser: AuthServerOptions<P, R, U>['currentUser'];
  readonly signOut: AuthServerOptions<P, R, U>['signOut'];
  /** Called with users of the option `users` only, which makes dropping the type parameter `U` safe. */
  readonly tokenClaims: TokenClaims | undefined;
  readonly loginUrl: string | undefined;
  readonly developerPath: string | undefined;
  readonly reservedNames: readonly string[];
  readonly accountPath: string | undefined;
  /** The scopes of all APIs, each name once: those that clients can be registered for. */
  readonly scopes: ReadonlyMap<string, Scope<P>>;
  /** All APIs by URL, the default one first. */
  readonly resources: ReadonlyMap<string, ResolvedResource<P>>;
  /** `undefined`: apps cannot register themselves. */
  readonly dynamicRegistration: ResolvedRegistration | undefined;
  /** `undefined`: apps that nobody registered are refused. */
  readonly clientIdMetadata: Required<ClientIdMetadata> | undefined;
  /** In seconds. */
  readonly lifetimes: Readonly<Record<keyof Omit<Lifetimes, 'preset'>, number>>;
  /** In seconds. `undefined`: devices are not authorized. */
  readonly deviceAuthorization: ResolvedDeviceAuthorization | undefined;
  readonly cookieKeys: readonly string[] | undefined;
  /** Newest first; empty: the keys are stored unencrypted. */
  readonly keyEncryptionKeys: readonly string[];
  readonly revocationLag: number;
  readonly cachedTokens: number;
  readonly refreshGrace: number;
  readonly keyRotation: number;
  readonly pruneInterval: number;
  readonly auditRetention: number;
  readonly maxRequests: number;
  /** In seconds. */
  readonly bodyTimeout: number;
  readonly maxBodyBytes: number;
  readonly throttling: ResolvedThrottling;
  readonly configure: (configuration: Configuration) => Configuration;
  readonly engine: ((provider: Provider) => void) | undefined;
}
