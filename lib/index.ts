/**
 * The authorization server, the gate with its permissions and roles, the API with its actions, and the interfaces of the host's
 * users, storage and pages.
 *
 * Start with {@link createAuthServer}, {@link defineGate}, {@link createApiRouter} and {@link defineAction}.
 * {@link createAdministration} administers a storage without a server.
 *
 * @module koa-gatehouse
 */
import '#runtime';

export { defineGate } from './access/gate.ts';
export type { GateDefinition, PermissionDefinition } from './access/gate.ts';
export type { GuardContext, GuardMiddleware } from './access/guard.ts';
export type { Requires } from './access/requires.ts';
export type { Rule, Rules } from './access/gate.ts';
export { createAdministration } from './server/administration.ts';
export type {
  Administration,
  AdministrationOptions,
  KeyRevocation,
  KeyRotation,
} from './server/administration.ts';
export { defineAction } from './api/actions/define-action.ts';
export type {
  Action,
  ActionCall,
  ActionDefinition,
  ActionLevel,
  ActionSchema,
  JsonSchema,
} from './api/actions/define-action.ts';
export type { BulkLimits, RequestLimit, RequestLimits, UploadLimits } from './api/limits.ts';
export type { RouteBody, UploadedFile } from './api/route-bodies.ts';
export type { OpenApiPart, OpenApiPath } from './api/openapi/components.ts';
export type { OpenApiOptions } from './api/openapi/options.ts';
export { createApiRouter } from './api/router.ts';
export type { ApiAuth, ApiRouter, ApiRouterOptions } from './api/router.ts';
export type { AuthServer } from './server/auth-server.ts';
export type {
  AccessTokenClaims,
  Assignment,
  Assignments,
  AssignmentStore,
  AttemptCounter,
  AttemptStore,
  AttemptWindow,
  CountedAttempt,
  AuditEvent,
  AuditEventType,
  AuditLog,
  AuditOrigin,
  AuditQuery,
  AuditRecord,
  AuditRecordOf,
  AuditStore,
  ChangeFeed,
  Client,
  ClientChanges,
  ClientEndpoint,
  ClientFields,
  ClientGrantType,
  ClientKeys,
  ClientLifetimes,
  ClientMetadata,
  ClientMetadataDocument,
  ClientPrincipal,
  ClientQuery,
  ClientRegistration,
  ClientRegistry,
  ClientSecret,
  ClientStore,
  AuthorizedApp,
  AuthorizedApps,
  AuthorizedResource,
  Consent,
  ConsentStore,
  Credential,
  Developer,
  DeviceCode,
  DeviceCodeStore,
  DeviceFlow,
  DeviceRequest,
  RevokedParty,
  EndpointOutcome,
  Finding,
  FoundCredential,
  FoundSession,
  Gate,
  Grant,
  GrantPrerequisites,
  GrantSelector,
  GrantStore,
  GuardedState,
  GuardOutcome,
  IdempotencyStore,
  Interaction,
  InteractionFlow,
  InteractionScope,
  Interactions,
  KeyStore,
  Logger,
  NamedResource,
  NewSecret,
  Observer,
  PageError,
  Pages,
  PermissionSource,
  Principal,
  Redemption,
  RegisteredAuthMethod,
  RegistrationPlaces,
  RegistrationStore,
  RevocationStore,
  RevokedToken,
  SessionStore,
  Storage,
  StorageAccess,
  StorageCache,
  StorageDiagnosis,
  StorageState,
  StoredAnswer,
  StoredChange,
  StoredClient,
  StoredKey,
  StoredRegistration,
  StoredRequest,
  StoredSession,
  ReservedAttempts,
  TokenInQuestion,
  ToolUse,
  User,
  UserPrincipal,
  UserStore,
} from './contracts/index.ts';
export { createAuthServer } from './server/create-auth-server.ts';
export type { Duration, DurationUnit } from './contracts/duration.ts';
export type { ImportedClient, ImportOutcome } from './clients/import.ts';
export type { IssueTokenOptions } from './token/issue-token.ts';
export type { SigningKey } from './keys/stored-keys.ts';
export type { RevocationTarget } from './token/revoke.ts';
export type { NotReadyReason, Readiness, ReadinessWarning } from './server/health.ts';
export {
  ActionError,
  AssignmentInvalidError,
  BodyError,
  ClientChangedError,
  ClientInvalidError,
  ClientMetadataError,
  ClientNotFoundError,
  ConfigError,
  ConsentInvalidError,
  GatehouseError,
  InteractionExpiredError,
  MigrationsPendingError,
  PermissionMissingError,
  StorageError,
  TooManyAttemptsError,
} from './errors.ts';
export type { FieldError, FieldErrorCode, FieldErrorParameters, GatehouseErrorCode } from './errors.ts';
export type {
  AuthServerOptions,
  LimitOptions,
  LoginOptions,
  PathOptions,
  RetentionOptions,
  SecretOptions,
} from './options/options.ts';
export type { ClientOptions } from './options/clients.ts';
export type { SigningAlgorithm, TokenClaims, TokenClaimsContext, TokenOptions } from './options/tokens.ts';
export type { LifetimePreset, Lifetimes } from './options/lifetimes.ts';
export type { Resource } from './options/resources.ts';
export type { Scope } from './options/scopes.ts';
export type { DeviceAuthorization } from './options/device-authorization.ts';
export type { DynamicRegistrationOptions, RegistrationRequest } from './options/registration.ts';
export type { ClientIdMetadata } from './options/client-id-metadata.ts';
export type {
  AttemptLimits,
  ClientAuthenticationLimits,
  DeviceRequestLimits,
  LoginLimits,
  UserCodeLimits,
} from './options/attempts.ts';
export type { PruneOptions } from './server/jobs.ts';
export { requestIdOf } from './http/request-id.ts';
export type { CloseOptions } from './server/shutdown.ts';
