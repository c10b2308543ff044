import { bodyParser } from '@koa/bodyparser';

import { hostApp } from '../embedding/host.ts';
import { Browser } from '../harness/browser.ts';
import { signIn } from '../harness/platform.ts';
import type { Mounting, Platform } from '../harness/platform.ts';

/** The ways in which a server can be mounted. */
export const SERVERS: Readonly<Record<string, Mounting>> = {
  'stand-alone': { app: ({ auth }) => auth.callback() },
  'stand-alone, issuer with a path': { path: '/auth', app: ({ auth }) => auth.callback() },
  'in an app with other keys': {
    app: hostApp({ keys: ['a key of the host'], front: [bodyParser()] }),
  },
  'in an app without keys, issuer with a path': { path: '/auth', app: hostApp({ front: [bodyParser()] }) },
};

/** Signs the user in and authorizes the app. Resolves to the URL of the callback. */
export async function completeFlow(platform: Platform, authorizationUrl: URL): Promise<URL> {
  const browser = new Browser(platform.reach);
  let page = await browser.open(authorizationUrl);
  if (page.html.includes('type="password"')) page = await signIn(browser, page);
  if (page.location === undefined) page = await browser.follow(await browser.submit(page, 'Authorize'));
  if (page.location === undefined) throw new Error(`No redirect to the app, but: ${page.text}`);
  return page.location;
}
