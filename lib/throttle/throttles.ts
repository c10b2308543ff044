import type { AttemptStore, ClientThrottle, Logger, LoginThrottle } from '../contracts.ts';
import { createClientThrottle, unlimitedClients } from './client-throttle.ts';
import type { ClientLimits } from './client-throttle.ts';
import { createAttemptId } from './ids.ts';
import { createLoginThrottle, unlimitedLogins } from './login-throttle.ts';
import type { LoginLimits } from './login-throttle.ts';

/** What of a server can be guessed at. */
export interface Throttles {
  readonly logins: LoginThrottle;
  readonly clients: ClientThrottle;
}

export function createThrottles(
  store: AttemptStore,
  {
    logger,
    secret,
    throttling,
  }: {
    readonly logger: Logger;
    /** The same on every node. */
    readonly secret: string;
    readonly throttling: {
      readonly login: LoginLimits | undefined;
      readonly clientAuthentication: ClientLimits | undefined;
    };
  },
): Throttles {
  const idOf = createAttemptId(secret);
  const { clientAuthentication, login } = throttling;
  return {
    logins: login ? createLoginThrottle(store, { idOf, limits: login, logger }) : unlimitedLogins,
    clients: clientAuthentication
      ? createClientThrottle(store, { idOf, limits: clientAuthentication })
      : unlimitedClients,
  };
}
