/**
 * Tools for the tests of an app: requests without tokens, tokens without logins, a complete server on a free port, and a clock
 * that a test sets.
 *
 * @module koa-gatehouse/testing
 */
import '#runtime';

export { actingAsClient, actingAsUser } from './acting.ts';
export type {
  Acting,
  ActingContext,
  ActingOptions,
  ActingUserOptions,
  AppUnderTest,
  KoaApp,
  ContextActingOptions,
  Through,
} from './acting.ts';
export type { Authorization, AuthorizeOptions, RegisteredClient, TokenResponse } from './authorize.ts';
export { connectionContract } from './connection-contract.ts';
export { fakeClock } from './fake-clock.ts';
export type { FakeClock } from './fake-clock.ts';
export { issueToken } from './issue-token.ts';
export type { AnyAuthServer, TokenRequest } from './issue-token.ts';
export { testServer } from './test-server.ts';
export type { TestServer, TestServerOptions, TestUser } from './test-server.ts';
