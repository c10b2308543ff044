/**
 * The ports: what the rooms of this package ask of each other and of a host. Types only.
 *
 * Times are whole seconds since 1970 (RFC 7519 NumericDate) unless a name says otherwise. Ids of credentials in the
 * storage are SHA-256 hashes: no port ever receives a code, a refresh token, a secret or a session id as such.
 */
export type * from './contracts/people.ts';
export type * from './contracts/clients.ts';
export type * from './contracts/grants.ts';
export type * from './contracts/sessions.ts';
export type * from './contracts/audit.ts';
export type * from './contracts/idempotency.ts';
export type * from './contracts/throttle.ts';
export type * from './contracts/storage.ts';
export type * from './contracts/principals.ts';
export type * from './contracts/pages.ts';
export type * from './contracts/logger.ts';
export type * from './contracts/observer.ts';
export type * from './contracts/tracing.ts';
