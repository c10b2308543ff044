import { ConfigError } from '../errors.ts';
import { isObject, optional, readOptions } from './declare.ts';
import type { Check, Given, Values } from './declare.ts';
import { duration } from './values.ts';

const DEVICE_AUTHORIZATION = {
  /** How long a code can be entered: 1 to 30 minutes. @default '10 minutes' */
  lifetime: optional(duration(60, 1800), '10 minutes'),
  /** How long a device waits between two polls: 1 to 60 seconds. A faster one gets `slow_down`. @default '5 seconds' */
  interval: optional(duration(1, 60), '5 seconds'),
};

/** Settings of the device authorization grant (RFC 8628). */
export interface DeviceAuthorization extends Given<typeof DEVICE_AUTHORIZATION> {}

/** The same in seconds. */
export type ResolvedDeviceAuthorization = Values<typeof DEVICE_AUTHORIZATION>;

/** `undefined`: devices are not authorized. */
export const deviceAuthorization: Check<
  boolean | DeviceAuthorization,
  ResolvedDeviceAuthorization | undefined
> = (place, given) => {
  if (given === false) return undefined;
  if (given !== true && !isObject(given)) {
    throw new ConfigError(place, "give true, or an object such as { lifetime: '10 minutes' }");
  }
  return readOptions(DEVICE_AUTHORIZATION, given === true ? {} : given, place);
};
