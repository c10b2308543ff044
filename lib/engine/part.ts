import type { Adapter, Configuration, KoaContextWithOIDC } from 'oidc-provider';

import type { StoredClient } from '../contracts/index.ts';
import type { KnownGrant } from './grant-types.ts';
import type { EngineRequest } from './request.ts';

/** What a module adds to the engine: its models on the storage, its settings and its grants. */
export interface EnginePart {
  /** By the engine's name of the model. An operation that is not listed is refused. */
  readonly models?: Readonly<Record<string, Partial<Adapter>>>;
  /** Its `features`, `routes` and `ttl` are joined with those of the other parts. */
  readonly configuration?: Configuration;
  readonly grants?: readonly GrantType[];
}

/** A grant of the token endpoint. The engine has authenticated the client, and checked that it may use the grant. */
export interface GrantType extends KnownGrant {
  /** The parameters of its requests. The engine removes all others but those of client authentication. */
  readonly parameters: readonly string[];
  /** Sets the response. @throws errors of the engine, for its answer (RFC 6749 section 5.2) */
  readonly handle: (ctx: KoaContextWithOIDC, request: AuthenticatedTokenRequest) => Promise<void>;
}

/** A token request, whose client the engine has authenticated. */
export interface AuthenticatedTokenRequest extends EngineRequest {
  client: StoredClient;
  clientSequence: number;
}
