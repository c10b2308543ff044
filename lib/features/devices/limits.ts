import type { Limit } from '../../limits/limiter.ts';
import { REMEMBERED } from '../../limits/limits.ts';
import { perNetwork } from '../../limits/networks.ts';
import type { DeviceSettings } from './index.ts';

/** A user code that a user enters (RFC 8628 section 5.1). */
export interface UserCodeAttempt {
  readonly userId: string;
  readonly address: string;
}

/** The limit of wrong user codes, per user, and per address with its networks. */
export function userCodeLimit({
  perAddress,
  perUser,
  window,
}: NonNullable<DeviceSettings['userCodes']>): Limit<UserCodeAttempt> {
  return {
    window,
    remembered: REMEMBERED,
    keysOf: ({ address, userId }) => [
      { key: ['user code', userId], limit: perUser },
      ...perNetwork(address, { key: ['user code address'], limit: perAddress }),
    ],
  };
}
