import { devices } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** The response to a device authorization request (RFC 8628 section 3.2). */
export interface DeviceAnswer {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

const SCOPES = {
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
  'schools:write': { description: 'Change your schools', permissions: ['edit_schools'], optional: true },
} as const;

/** A platform that authorizes devices. */
export async function startDevicePlatform(
  given: Parameters<typeof startPlatform>[0] = {},
  mounting: Parameters<typeof startPlatform>[1] = {},
): Promise<Platform> {
  return startPlatform({ scopes: SCOPES, features: [devices()], ...given }, mounting);
}

/** Registers a command line: a public client. */
export async function registerDevice(
  platform: Platform,
  fields: Parameters<Platform['registerApp']>[0] = {},
): Promise<RegisteredApp> {
  const device = {
    name: 'School CLI',
    grantType: 'device_code',
    redirectUris: [],
    confidential: false,
  } as const;
  return platform.registerApp({ ...device, ...fields });
}

/** Sends a device authorization request. */
export async function requestCode(
  platform: Pick<Platform, 'url'>,
  app: RegisteredApp,
  parameters: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const url = platform.url('/oauth/device_authorization');
  return postForm(url, { ...asClient(app), ...parameters }, headers);
}

/** The same. @throws Error when it was refused */
export async function beginOn(
  platform: Pick<Platform, 'url'>,
  app: RegisteredApp,
  parameters: Record<string, string> = {},
): Promise<DeviceAnswer> {
  const { body, status, text } = await requestCode(platform, app, parameters);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body as unknown as DeviceAnswer;
}

/** Polls the token endpoint. */
export async function poll(
  platform: Pick<Platform, 'url'>,
  app: RegisteredApp,
  deviceCode: string,
  parameters: Record<string, string> = {},
): Promise<Answer> {
  return postForm(platform.url('/oauth/token'), {
    grant_type: DEVICE_GRANT,
    ...asClient(app),
    device_code: deviceCode,
    ...parameters,
  });
}

/** Polls after the interval. */
export async function pollLater(...given: Parameters<typeof poll>): Promise<Answer> {
  passTime(5);
  return poll(...given);
}

/** Status and error of a response. */
export function errorOf({ body, status }: Answer): readonly [number, unknown] {
  return [status, body?.['error']];
}

/** Enters a code on the page. Resolves to the page that asks for an answer, or to the form with a problem. */
export async function enter(
  platform: Pick<Platform, 'url'>,
  browser: Browser,
  userCode: string,
): Promise<Page> {
  const form = await browser.open(platform.url('/oauth/device'));
  return browser.submit(form, 'Continue', { user_code: userCode });
}

/** Enters a code and answers. Resolves to the last page. */
export async function answer(
  platform: Pick<Platform, 'url'>,
  browser: Browser,
  userCode: string,
  button: 'Connect' | 'Deny' = 'Connect',
): Promise<Page> {
  return browser.follow(await browser.submit(await enter(platform, browser, userCode), button));
}
