import type { AdapterPayload, Configuration, KoaContextWithOIDC } from 'oidc-provider';

import type { Client, StoredClient } from '../contracts/index.ts';
import type { Model } from './calls-without-context.ts';
import type { EngineRequest, KnownGrant } from './request.ts';

/** What a module adds to the engine: its models on the storage, its settings and its grants. */
export interface EnginePart {
  /** By the engine's name of the model. An operation that is not listed is refused. */
  readonly models?: Readonly<Record<string, Model>>;
  /** Its `features`, `routes` and `ttl` are joined with those of the other parts. */
  readonly configuration?: Configuration;
  readonly grants?: readonly GrantType[];
  /** What the engine knows of a client besides (RFC 7591 section 2). It is asked again when the client was changed. */
  readonly clientMetadata?: (client: Client) => AdapterPayload;
}

/** A grant of the token endpoint. The engine has authenticated the client, and checked that it may use the grant. */
export interface GrantType extends KnownGrant {
  /** The parameters of its requests. The engine removes all others but those of client authentication. */
  readonly parameters: readonly string[];
  /**
   * The client of a request that sends no other credential than that of this grant, where it authenticates the client too: `handle` checks
   * it for both. `undefined`: the client has to authenticate itself as it is registered.
   */
  readonly clientOf?: (parameters: URLSearchParams) => string | undefined;
  /** Sets the response. @throws errors of the engine, for its answer (RFC 6749 section 5.2) */
  readonly handle: (ctx: KoaContextWithOIDC, request: AuthenticatedTokenRequest) => Promise<void>;
}

/** A token request, whose client the engine has authenticated. */
export interface AuthenticatedTokenRequest extends EngineRequest {
  client: StoredClient;
  clientSequence: number;
}
