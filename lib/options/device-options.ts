import type { Duration } from '../contracts/duration.ts';

/** Settings of the device authorization grant (RFC 8628). */
export interface DeviceAuthorization {
  /** How long a code can be entered: 1 to 30 minutes. @default '10 minutes' */
  readonly lifetime?: Duration;
  /** How long a device waits between two polls: 1 to 60 seconds. A faster one gets `slow_down`. @default '5 seconds' */
  readonly interval?: Duration;
}

/** The same in seconds. */
export type ResolvedDeviceAuthorization = Readonly<Record<keyof DeviceAuthorization, number>>;
