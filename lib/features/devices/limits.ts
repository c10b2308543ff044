import type { Client } from '../../contracts/index.ts';
import type { Limit } from '../../limits/limiter.ts';
import { REMEMBERED } from '../../limits/limits.ts';
import { perNetwork } from '../../limits/networks.ts';
import type { DeviceSettings } from './index.ts';

/** A user code that a user enters (RFC 8628 section 5.1). */
export interface UserCodeAttempt {
  readonly userId: string;
  readonly address: string;
}

/** A device authorization request, whose client has authenticated itself if it can. */
export interface DeviceAttempt {
  readonly client: Pick<Client, 'id' | 'confidential'>;
  readonly address: string;
}

/** Wrong user codes, per user, and per address with its networks. */
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

/**
 * Device authorization requests, each of which stores a row: those of a confidential client for all of its
 * devices, which have the address of its own server, and those of public clients per address with its
 * networks. Anybody can send requests in the name of a public client, so a limit for one would be used up by
 * strangers, who then lock out its devices.
 */
export function deviceRequestLimit({
  perAddress,
  perClient,
  window,
}: NonNullable<DeviceSettings['requests']>): Limit<DeviceAttempt> {
  return {
    window,
    keysOf: ({ address, client: { confidential, id } }) =>
      confidential
        ? [{ key: ['device client', id], limit: perClient }]
        : perNetwork(address, { key: ['device address'], limit: perAddress }),
  };
}
