/** The groups of options, what the functions in them are given, and what those return. */
export type { Loaded, ObjectContext, RuledObject } from '../access/requires.ts';
export type { RequiredObject } from '../api/actions/define-action.ts';
export type { BulkLimits, RequestLimit, RequestLimits, RouteLimits, UploadLimits } from '../api/limits.ts';
export type { OpenApiPart } from '../api/openapi/components.ts';
export type { AttemptLimits, ClientAuthenticationLimits, LoginLimits } from '../options/attempts.ts';
export type { ClientOptions } from '../options/clients.ts';
export type { LifetimePreset, Lifetimes } from '../options/lifetimes.ts';
export type {
  Authentication,
  LimitOptions,
  LoginOptions,
  PathOptions,
  RetentionOptions,
  SecretOptions,
} from '../options/options.ts';
export type { TokenClaimsContext, TokenOptions } from '../options/tokens.ts';
export type { PruneOptions } from '../server/jobs.ts';
export type { CloseOptions } from '../server/shutdown.ts';
