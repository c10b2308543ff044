import { objectOrFalse, optional, readOptions } from '../../options/declare.ts';
import type { Given } from '../../options/declare.ts';
import { duration, integer } from '../../options/values.ts';
import type { Feature } from '../feature.ts';
import { DEVICE_EVENTS } from './events.ts';
import { DEVICE_KIND } from './kind.ts';
import type { DeviceFlow } from './types.ts';

const USER_CODES = {
  /** Wrong codes that one user enters. @default 5 */
  perUser: optional(integer(1), 5),
  /** Wrong codes from one address, of all users together. @default 50 */
  perAddress: optional(integer(1), 50),
  /** The length of the window, from the first wrong code on. @default '15 minutes' */
  window: optional(duration(1), '15 minutes'),
};

const REQUESTS = {
  /** Requests from one address for all public clients together; confidential clients, which authenticate, do not count. @default 50 */
  perAddress: optional(integer(1), 50),
  /** Requests of one confidential client. Public clients have no such limit, because strangers could use it up. @default 10000 */
  perClient: optional(integer(1), 10_000),
  /** The length of the window, from the first request on. @default '10 minutes' */
  window: optional(duration(1), '10 minutes'),
};

export const DEVICES = {
  /** How long a code can be entered: 1 to 30 minutes. @default '10 minutes' */
  lifetime: optional(duration(60, 1800), '10 minutes'),
  /** How long a device waits between two polls: 1 to 60 seconds. A device that polls faster gets `slow_down`. @default '5 seconds' */
  interval: optional(duration(1, 60), '5 seconds'),
  /**
   * Limits of wrong user codes at `/oauth/device` (RFC 8628 section 5.1); `false` for no limits. Over a limit, users see the page with
   * 429 and `Retry-After`.
   */
  userCodes: optional(objectOrFalse(USER_CODES), {}),
  /**
   * Limits of device authorization requests, each of which stores a row for as long as its code lives; `false` for no limits. Over a
   * limit, the response is 429 with `Retry-After`.
   */
  requests: optional(objectOrFalse(REQUESTS), {}),
};

/** Settings of the device authorization grant (RFC 8628). */
export interface DeviceOptions extends Given<typeof DEVICES> {}

/** What {@link devices} adds to a server. */
export interface Devices {
  /** The device authorization grant, for a page of your own at `/oauth/device`. */
  readonly devices: DeviceFlow;
}

/**
 * The device authorization grant (RFC 8628), for command lines, televisions and other devices without a browser: their clients have the
 * grant type `device_code`, and users enter the code that the device shows at `/oauth/device`. Without the feature there is no endpoint
 * and no page, and no client gets tokens for a device code; devices that users have connected go on working.
 *
 *     createAuthServer({ …, features: [devices({ lifetime: '5 minutes' })] })
 *
 * @throws ConfigError for a wrong option
 */
export function devices(options: DeviceOptions = {}): Feature<Devices> {
  const settings = readOptions(DEVICES, options, 'devices()');
  return {
    name: 'devices',
    clientKinds: [DEVICE_KIND],
    events: DEVICE_EVENTS,
    keysFor: settings.lifetime,
    install: async (core) => (await import('./install.ts')).installDevices(core, settings),
  };
}

/** The options, complete. */
export type DeviceSettings = ReturnType<typeof readOptions<typeof DEVICES>>;

// So that the compiler finds what it adds to the events wherever a program imports the feature.
// oxlint-disable-next-line unicorn/require-module-specifiers -- hosts name none of them
export type {} from './events.ts';
