/**
 * Tools for the tests of an app: requests without tokens, tokens without logins, a complete server on a free port, and a clock
 * that a test sets.
 *
 * @module koa-gatehouse/testing
 */
import '#runtime';

export { actingAsClient, actingAsUser } from './acting.ts';
export type { Acting } from './acting.ts';
export { connectionContract } from './connection-contract.ts';
export { fakeClock } from './fake-clock.ts';
export type { FakeClock } from './fake-clock.ts';
export { issueToken } from './issue-token.ts';
export { testServer } from './test-server.ts';
export type { TestServer } from './test-server.ts';
