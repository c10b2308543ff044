import type { Context } from 'koa';

import type { ClientKinds } from './client-kinds.ts';
import type { ClientSources } from './client-sources.ts';
import type { User } from './people.ts';

/** The bundled pages of a feature, as far as the core knows them: `FeaturePages` has the router that their routes are added to. */
export interface BundledPages {
  /** The EJS of its views, by name, such as `page/part`. */
  readonly views: Readonly<Record<string, string>>;
  /** Its sentences, by name. */
  readonly texts: {
    readonly en: Readonly<Record<string, string>>;
    readonly de: Readonly<Record<string, string>>;
  };
  /** A link in the header of a signed-in user, with the name of its text; `undefined`: this user may not open the page. */
  link?(ctx: Context, user: User): Promise<{ readonly path: string; readonly text: string } | undefined>;
  addRoutes?(router: never): void;
}

/** What the bundled pages and those of features know of the server besides what pages of a host do. It changes without notice. */
export interface FlowParts {
  /** The server's origin, such as `https://platform.example`: from the issuer, never from the `Host` header. */
  readonly origin: string;
  /** The path in front of the server's own paths: the path of the issuer, or `''`. */
  readonly basePath: string;
  /** Path of the page of authorized apps; `undefined` when there is none. */
  readonly accountPath: string | undefined;
  /** Path of the page of login sessions; `undefined` when there is none. */
  readonly sessionsPath: string | undefined;
  /** The URLs of the APIs that `createApiRouter()` serves in this process, by the API as tokens name it: the issuer for the default API. */
  readonly apis: ReadonlyMap<string, string>;
  readonly clientKinds: ClientKinds;
  readonly clientSources: ClientSources;
  /** The bundled pages of the features. */
  readonly features: readonly BundledPages[];
}
