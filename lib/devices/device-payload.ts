import type { DeviceCode } from '../contracts/index.ts';
import { scopeNames } from '../token/scopes.ts';

/** The requested access, and what is known of the device, as the row of a device code stores them. */
export interface DevicePayload {
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The request names no scope and the client is registered for none: the consent is limited to no scope. */
  readonly isLimited: boolean;
  /** Koa's `ctx.ip` of the device's request. */
  readonly address: string;
  /** The `User-Agent` of the device's request, shortened; empty when it sent none. */
  readonly userAgent: string;
}

// For a page: enough to recognize a program by.
const LONGEST_USER_AGENT = 120;

/** @param parameters - of the device authorization request, as the engine has checked them */
export function toDevicePayload(
  parameters: Readonly<Record<string, unknown>>,
  { userAgent, ...others }: Pick<DevicePayload, 'isLimited' | 'address' | 'userAgent'>,
): Record<string, unknown> {
  const { resource, scope } = parameters;
  const payload: DevicePayload = {
    resource: String(resource),
    scopes: scopeNames(scope),
    ...others,
    userAgent: shortened(userAgent),
  };
  return { ...payload };
}

export function readDevicePayload({ payload }: Pick<DeviceCode, 'payload'>): DevicePayload {
  return payload as unknown as DevicePayload;
}

function shortened(userAgent: string): string {
  const text = userAgent.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
  return text.length > LONGEST_USER_AGENT ? `${text.slice(0, LONGEST_USER_AGENT - 1)}…` : text;
}
