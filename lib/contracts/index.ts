/**
 * The ports: the interfaces between the modules of this package, the host, and its storage and pages. Types only.
 *
 * Ids of credentials in the storage are SHA-256 hashes: no port receives the value of a code, a refresh token, a secret or a
 * session id.
 */
export type * from './people.ts';
export type * from './clients.ts';
export type * from './client-registry.ts';
export type * from './consents.ts';
export type * from './grants.ts';
export type * from './revocations.ts';
export type * from './client-fields.ts';
export type * from './authorized-apps.ts';
export type * from './ends.ts';
export type * from './audit.ts';
export type * from './diagnosis.ts';
export type * from './storage.ts';
export type * from './sessions.ts';
export type * from './keys.ts';
export type * from './idempotency.ts';
export type * from './attempts.ts';
export type * from './limits.ts';
export type * from './principals.ts';
export type * from './user-data.ts';
export type * from './bundled-pages.ts';
export type * from './pages.ts';
export type * from './operation.ts';
export type { Duration, Milliseconds, Seconds } from './duration.ts';
export type { Checked, FieldError, Mistake } from './field-errors.ts';
