import { DENIED, OF_USER_AND_APP, REPEATED, STATE } from '../../record/event-rules.ts';
import type { EventRule } from '../../record/event-rules.ts';

/** The audit events of devices. */
export type DeviceEvent =
  | {
      readonly type: 'device_authorized' | 'device_denied';
      readonly userId: string;
      readonly clientId: string;
      readonly scopes: readonly string[];
      /** The API that the device is authorized for; absent for the default. */
      readonly resource?: string | undefined;
      /** The address that the device's request came from. The record's `address` is that of the browser. */
      readonly deviceAddress?: string | undefined;
    }
  /** A user entered a code that no open request has or, in the case of `throttled`, was refused before the code was looked for. */
  | { readonly type: 'user_code_refused' | 'user_code_throttled'; readonly userId: string };

declare module '../../contracts/audit.ts' {
  interface FeatureEvents {
    devices: DeviceEvent;
  }
}

export const DEVICE_EVENTS = {
  device_authorized: { shares: OF_USER_AND_APP, activity: 'people', addresses: ['deviceAddress'] },
  device_denied: {
    shares: [[DENIED, 'userId', 'clientId']],
    activity: 'people',
    addresses: ['deviceAddress'],
    hasNoAccess: true,
  },
  user_code_refused: { shares: [[REPEATED, 'userId']], activity: 'hidden' },
  user_code_throttled: { shares: [[STATE, 'userId']], activity: 'hidden' },
} as const satisfies Readonly<Record<DeviceEvent['type'], EventRule>>;
