import type {
  AttemptStore,
  ClientThrottle,
  KnownBrowsers,
  Logger,
  LoginThrottle,
} from '../contracts/index.ts';
import { createClientThrottle, unlimitedClients } from './client-throttle.ts';
import type { ClientLimits } from './client-throttle.ts';
import { createAttemptId } from './attempt-ids.ts';
import { createKnownBrowsers } from './known-browsers.ts';
import { createLoginThrottle, unlimitedLogins } from './login-throttle.ts';
import type { LoginLimits } from './login-throttle.ts';

/** What of a server can be guessed at. */
export interface Throttles {
  readonly logins: LoginThrottle;
  /** `undefined`: logins are not throttled, so there is nothing that a browser has to be known for. */
  readonly browsers: KnownBrowsers | undefined;
  readonly clients: ClientThrottle;
}

export function createThrottles(
  store: AttemptStore,
  {
    logger,
    secrets,
    throttling,
  }: {
    readonly logger: Logger;
    /** The same on every node, newest first. */
    readonly secrets: readonly string[];
    readonly throttling: {
      readonly login: (LoginLimits & { readonly deviceLifetime: number }) | undefined;
      readonly clientAuthentication: ClientLimits | undefined;
    };
  },
): Throttles {
  const idOf = createAttemptId(secrets[0]!);
  const { clientAuthentication, login } = throttling;
  return {
    logins: login ? createLoginThrottle(store, { idOf, limits: login, logger }) : unlimitedLogins,
    browsers: login && createKnownBrowsers(secrets, login.deviceLifetime),
    clients: clientAuthentication
      ? createClientThrottle(store, { idOf, limits: clientAuthentication })
      : unlimitedClients,
  };
}
