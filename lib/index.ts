/**
 * The authorization server, the gate with its permissions and roles, the API with its actions, and the interfaces of the host's
 * users and pages.
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
export type { Rule, Rules } from './access/rules.ts';
export { createAdministration } from './server/administration.ts';
export type {
  Administration,
  AdministrationOptions,
  KeyRevocation,
  KeyRotation,
} from './server/administration.ts';
export { defineAction } from './api/actions/define-action.ts';
export type { Action, ActionCall, ActionDefinition, ActionLevel } from './api/actions/define-action.ts';
export type { ActionSchema, JsonSchema } from './api/actions/schemas.ts';
export type { RouteBody, UploadedFile } from './api/route-bodies.ts';
export type { OpenApiPath } from './api/openapi/components.ts';
export type { OpenApiOptions } from './api/openapi/options.ts';
export { agents } from './features/agents/index.ts';
export type {
  AgentOptions,
  ClientIdMetadata,
  ClientMetadata,
  ClientMetadataDocument,
  DynamicRegistrationOptions,
  RegisteredAuthMethod,
  RegistrationRequest,
} from './features/agents/index.ts';
export { developer } from './features/developer/index.ts';
export type {
  ActivityQuery,
  ActivityRecord,
  AppUsage,
  Developer,
  DeveloperOptions,
  WithDeveloper,
} from './features/developer/index.ts';
export { devices } from './features/devices/index.ts';
export type { DeviceEvent, DeviceOptions, Devices } from './features/devices/index.ts';
export { PersonalTokenInvalidError } from './features/personal-tokens/errors.ts';
export { openid } from './features/openid/index.ts';
export type * from './features/openid/index.ts';
export { passport, passportSource } from './features/passport/index.ts';
export type * from './features/passport/index.ts';
export { personalTokens } from './features/personal-tokens/index.ts';
export type {
  PersonalTokenEvent,
  PersonalTokenSettings,
  WithPersonalTokens,
} from './features/personal-tokens/index.ts';
export type { PersonalTokenOptions } from './features/personal-tokens/manage.ts';
export type { NewPersonalToken, PersonalToken, PersonalTokens } from './features/personal-tokens/types.ts';
export type { Feature } from './features/feature.ts';
export { createApiRouter } from './api/router.ts';
export type { ApiAuth, ApiRouter, ApiRouterOptions } from './api/router.ts';
export type { AuthServer } from './server/auth-server.ts';
export type {
  AccessTokenClaims,
  Assignment,
  AuditEvent,
  AuditEventType,
  AuditLog,
  AuditOrigin,
  AuditQuery,
  AuditRecord,
  AuditRecordOf,
  Client,
  ClientFields,
  ClientGrantType,
  ClientPrincipal,
  ClientRegistry,
  EndpointOutcome,
  Finding,
  Gate,
  GuardedState,
  GuardOutcome,
  InteractionFlow,
  Interactions,
  Logger,
  Observer,
  Pages,
  PermissionSource,
  Principal,
  Storage,
  ToolUse,
  User,
  UserPrincipal,
  UserStore,
} from './contracts/index.ts';
export { createAuthServer } from './server/create-auth-server.ts';
export type { Duration, DurationUnit, Milliseconds, Seconds } from './contracts/duration.ts';
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
  ClientSourceError,
  ClientNotFoundError,
  ConfigError,
  ConsentInvalidError,
  GatehouseError,
  InteractionExpiredError,
  LoginRequiredError,
  MigrationsPendingError,
  PermissionMissingError,
  StorageError,
  TooManyAttemptsError,
} from './errors.ts';
export type { FieldError, FieldErrorCode, FieldErrorParameters } from './contracts/field-errors.ts';
export type { GatehouseErrorCode } from './errors.ts';
export type { AuthServerOptions } from './options/options.ts';
export type { SigningAlgorithm, TokenClaims } from './options/tokens.ts';
export type { Resource } from './options/resources.ts';
export type { Scope } from './options/scopes.ts';
export { requestIdOf } from './http/request-id.ts';
export type * as UserTypes from './types/users.ts';
export type * as PageTypes from './types/pages.ts';
export type * as ClientTypes from './types/clients.ts';
export type * as OptionTypes from './types/options.ts';
