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

export { createAuthServer } from './server/create-auth-server.ts';
export type { AuthServer } from './server/auth-server.ts';
export type { AuthServerOptions } from './options/options.ts';
export type { TokenClaimsFunction } from './options/tokens.ts';
export type { Resource } from './options/resources.ts';
export type { Scope } from './options/scopes.ts';
export { createAdministration } from './server/administration.ts';
export type { Administration } from './server/administration.ts';
export { defineGate } from './access/gate.ts';
export type { GuardContext } from './access/guard.ts';
export { createApiRouter } from './api/router.ts';
export type { ApiRouter } from './api/router.ts';
export type { OpenApiPath } from './api/openapi/components.ts';
export type { UploadedFile } from './api/route-bodies.ts';
export { defineAction } from './api/actions/define-action.ts';
export type { Action, ActionCall } from './api/actions/define-action.ts';
export { requestIdOf } from './http/request.ts';

export type { Feature } from './features/feature.ts';
export { agents } from './features/agents/index.ts';
export type { AgentOptions } from './features/agents/index.ts';
export { developer } from './features/developer/index.ts';
export type { Developer } from './features/developer/index.ts';
export { devices } from './features/devices/index.ts';
export type { DeviceOptions } from './features/devices/index.ts';
export { openid } from './features/openid/index.ts';
export type { OpenIdOptions } from './features/openid/index.ts';
export { laravelPassport, laravelPassportSource } from './features/laravel-passport/index.ts';
export type { LaravelPassportSource } from './features/laravel-passport/types.ts';
export { personalTokens } from './features/personal-tokens/index.ts';
export type { PersonalTokenOptions } from './features/personal-tokens/index.ts';
export type { PersonalToken } from './features/personal-tokens/types.ts';
export { pushedRequests } from './features/pushed-requests/index.ts';
export { trustedIssuers } from './features/trusted-issuers/index.ts';

export type { ImportedClient } from './clients/import.ts';
export type {
  AuditRecord,
  AuthorizedApp,
  AuthorizedAppsPage,
  Client,
  ClientFields,
  ClientPrincipal,
  ClientSecret,
  ConsentForm,
  Duration,
  FieldError,
  Finding,
  Gate,
  InteractionFlow,
  Interactions,
  LoginForm,
  LogoutPage,
  Logger,
  NewSecret,
  PageError,
  Pages,
  PostedResponse,
  Principal,
  Storage,
  User,
  UserGrants,
  UserPrincipal,
  UserStore,
} from './contracts/index.ts';
export { ActionError, ConfigError, ValidationError, GatehouseError, StorageError } from './errors.ts';

// So that the compiler finds them wherever a program imports this module.
// oxlint-disable-next-line unicorn/require-module-specifiers -- hosts name none of them
export type {} from './types.ts';
