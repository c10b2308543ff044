/** Requests that speak for somebody without a token. Only the test kit makes them: nothing in a request can. */
import type { IncomingMessage } from 'node:http';

import type { Gate, Principal } from '../contracts/index.ts';
import type { FindHeldByClient, Holders, PrincipalRules } from './principal.ts';

/** What the server's own principals are made with. */
export interface PrincipalSources extends PrincipalRules {
  readonly gate: PrincipalRules['gate'] & Pick<Gate, 'has' | 'roles'>;
  readonly holders: Pick<Holders, 'heldBy'>;
  readonly heldByClient: FindHeldByClient;
}

/** Makes the principal that a request speaks for. */
export type Impersonation = (sources: PrincipalSources) => Promise<Principal>;

const impersonations = new WeakMap<IncomingMessage, Impersonation>();

/** Lets a request through every guard of this process, unless it has an `Authorization` header field of its own. */
export function impersonate(request: IncomingMessage, impersonation: Impersonation): void {
  impersonations.set(request, impersonation);
}

/** Whom a request without a token speaks for; `undefined` outside of tests. */
export function impersonationOf(request: IncomingMessage): Impersonation | undefined {
  return impersonations.get(request);
}
