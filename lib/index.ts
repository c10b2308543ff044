import '#runtime';

export { defineGate } from './access/gate.ts';
export type { GateDefinition, PermissionDefinition } from './access/gate.ts';
export type { GuardMiddleware } from './access/guard.ts';
export type { Requires } from './access/requires.ts';
export type { ApiAuth } from './api/auth.ts';
export { createApiRouter } from './api/router.ts';
export type { ApiRouter, ApiRouterOptions } from './api/router.ts';
export type { AuthServer } from './auth-server.ts';
export type {
  AccessTokenClaims,
  Client,
  ClientGrantType,
  ClientPrincipal,
  ClientQuery,
  ClientSecret,
  ClientStore,
  Consent,
  ConsentStore,
  Credential,
  CredentialStore,
  Finding,
  Gate,
  Grant,
  GrantSelector,
  GrantStore,
  GuardedState,
  Interaction,
  InteractionFlow,
  Interactions,
  InteractionStore,
  KeyStore,
  Logger,
  PageError,
  Pages,
  PermissionSource,
  Principal,
  Redemption,
  Revocation,
  RevocationStore,
  SessionStore,
  Storage,
  StoredClient,
  StoredKey,
  StoredRecord,
  StoredSession,
  User,
  UserPrincipal,
  UserStore,
} from './contracts.ts';
export { createAuthServer } from './create-auth-server.ts';
export type { Duration } from './duration.ts';
export type { ClientFields } from './engine/client-fields.ts';
export type { ClientRegistry, NewSecret } from './engine/client-registry.ts';
export type { SigningKey } from './engine/key-ring.ts';
export type { RevocationTarget } from './engine/revoke.ts';
export {
  BodyError,
  ClientInvalidError,
  ConfigError,
  GatehouseError,
  InteractionExpiredError,
  MigrationsPendingError,
  StorageError,
} from './errors.ts';
export type { FieldError, GatehouseErrorCode } from './errors.ts';
export type { AuthServerOptions, LifetimePreset, Lifetimes, Scope, SigningAlgorithm } from './options.ts';
