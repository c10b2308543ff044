/**
 * The types of what the functions of this package return, where no code of a host names them: TypeScript infers them, and writes their
 * names into the declarations that it emits for a host. Types only.
 *
 * @module koa-gatehouse/types
 */
export type { ActionSchema } from './api/actions/schemas.ts';
export type { RouteBody } from './api/route-bodies.ts';
export type { GuardMiddleware } from './access/guard.ts';
export type { Requires } from './access/requires.ts';
export type { ImportOutcome } from './clients/import.ts';
export type {
  Assignment,
  Assignments,
  AuditLog,
  AuthorizedResource,
  AuthorizedScope,
  ClientGrantType,
  ClientKeys,
  ClientLifetimes,
  ClientRegistry,
  AppGrant,
  Consent,
  Grant,
  GrantOrigin,
  GuardedState,
  LoginFormWithoutClient,
  PageAnswer,
  PermissionSource,
  RefusedPage,
  ToolUse,
  UserData,
  UserExport,
  UserGrantsRegistry,
  UserSession,
} from './contracts/index.ts';
export type { ActivityRecord, AppUsage, WithDeveloper } from './features/developer/index.ts';
export type { Devices } from './features/devices/index.ts';
export type { WithPersonalTokens } from './features/personal-tokens/index.ts';
export type { DeviceFlow, DevicePage, DeviceRequest } from './features/devices/types.ts';
export type { NewPersonalToken, PersonalTokens } from './features/personal-tokens/types.ts';
export type { PersonalTokenFields } from './features/personal-tokens/manage.ts';
export type { SigningKey } from './keys/stored-keys.ts';
export type { KeyRevocation, KeyRotation } from './server/administration.ts';
export type { Readiness } from './server/health.ts';
export type { KoaApp } from './testing/acting.ts';
export type { Authorization, TokenResponse } from './testing/authorize.ts';
export type { ScopeChoice, Viewer } from '../interactions/page.ts';
