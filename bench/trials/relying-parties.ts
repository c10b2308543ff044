/**
 * Applications that sign users in with libraries, servers and whole products that nobody here wrote, which get a discovery URL, an id and
 * a secret: in Chromium a user logs in and consents, the application reads the claims and userinfo, and refreshes and logs out at the
 * server as far as it can; an app with a back-channel logout learns when the user is signed out. Prints a transcript in Markdown. Installs
 * those of npm into a temporary folder; those of Debian are left out where they are missing.
 *
 *     npm run trial -- relying-parties.ts [LIBRARY]
 */
import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { agents } from 'koa-gatehouse';
import type { Page } from 'playwright-core';

import { freePort } from '../../test/harness/free-port.ts';
import { startPlatform } from '../../test/harness/platform.ts';
import { CHROMIUM } from '../../test/harness/chromium-path.ts';
import { launchChromium } from '../../test/harness/chromium.ts';
import { installAgents } from './agents-install.ts';
import { startAgent } from './agents-program.ts';
import { expect, Transcript } from './agents-transcript.ts';
import { ALL } from './relying-list.ts';
import { PROGRAM } from './relying-sites.ts';
import { temporaryFolder } from './servers.ts';

const [only] = process.argv.slice(2);
const RELYING_PARTIES = ALL.filter(({ library }) => only === undefined || library === only);
// Directus takes no address below .example.
const ANN = 'ann@example.org';

if (CHROMIUM === undefined) throw new Error('the trial needs Chromium: apt-get install chromium');
const folder = temporaryFolder();
process.on('exit', () => folder[Symbol.dispose]());
const installed = await installAgents(folder.path, 'relying-parties');
// The file that Apache protects.
await mkdir(join(folder.path, 'html'));
await cp(installed.file('mod_auth_openidc.html'), join(folder.path, 'html/user'));
const transcript = new Transcript();
await using platform = await startPlatform({
  openid: true,
  features: [
    agents({
      documents: { allow: () => false, scopes: ['schools:read'], loopback: true },
      registration: false,
    }),
  ],
});
platform.users.all[0] = { ...platform.users.all[0]!, email: ANN };
const browser = await launchChromium();
transcript.line('# Sign in with: libraries of others');

function runNode(file: string, given: readonly string[]): readonly [string, ...string[]] {
  return [process.execPath, file, ...given];
}

/** Waits until the application listens. @throws Error when that takes 20 s */
async function listens(url: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    try {
      await (await fetch(url)).body?.cancel();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(50);
    }
  }
}

/** Logs Ann in and authorizes the application. Resolves to what the consent page says. */
async function logIn(page: Page): Promise<string> {
  await page.getByLabel('Email').fill(ANN);
  await page.getByLabel('Password').fill('correct horse');
  await page.getByRole('button', { name: 'Sign in' }).click();
  const authorize = page.getByRole('button', { name: 'Authorize' });
  await authorize.waitFor();
  const said = await page.locator('main').innerText();
  await authorize.click();
  return said;
}

for (const {
  accessToken,
  backChannel,
  callback = '/callback',
  debian,
  isPublic,
  left = '/left',
  library,
  logsOut,
  prepare,
  product,
  program,
  refreshes,
  run = runNode,
  site = PROGRAM,
} of RELYING_PARTIES) {
  if (debian && !existsSync(debian.file)) {
    console.warn(`SKIPPED, ${library}: apt-get install ${debian.name}`);
    continue;
  }
  const home = product === undefined ? folder.path : join(folder.path, product);
  const own = product === undefined ? installed : await installAgents(home, `relying-parties/${product}`);
  const name = debian ? `${library} of ${debian.name}` : own.named(library);
  await transcript.program(name, async (done) => {
    const port = await freePort();
    // Another host name than that of the server, so that the two share no cookies.
    const origin = `http://localhost:${port}`;
    const { client, secret } = await platform.registerApp({
      name: library,
      redirectUris: [origin + callback],
      postLogoutRedirectUris: [origin + left],
      ...(accessToken === undefined ? {} : { lifetimes: { accessToken } }),
      ...(isPublic ? { confidential: false } : {}),
      ...(backChannel === undefined ? {} : { backchannelLogoutUri: origin + backChannel }),
    });
    const given = {
      ISSUER: platform.origin,
      CLIENT_ID: client.id,
      CLIENT_SECRET: secret,
      PORT: `${port}`,
    };
    await using prepared = await prepare?.(home, given);
    const [executable, ...words] = run(own.file(program), Object.values(given));
    const environment = { ...given, FOLDER: folder.path, ...prepared?.environment };
    await using _app = startAgent(home, words, { environment, program: executable });
    await listens(`${origin}/left`);

    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await site.logIn(page, origin);
    const said = await logIn(page);
    expect('what the app asks for', /email address/i.test(said), said);
    await site.arrives(page, origin);
    const { claims, userinfo } = await site.userOn(page, origin);
    expect('sub', claims === undefined || claims['sub'] === '1', claims);
    expect('the email of userinfo', userinfo?.['email'] === ANN, userinfo);
    const shown = [claims?.['sub'], userinfo?.['name'], userinfo?.['email']].filter(
      (one) => one !== undefined,
    );
    done(`signs in: ${shown.map((one) => `\`${JSON.stringify(one)}\``).join(', ')}`);

    await site.logIn(page, origin);
    const authorize = page.getByRole('button', { name: 'Authorize' });
    await Promise.any([authorize.waitFor(), site.arrives(page, origin)]);
    // A consent to an app on the user's own machine is not remembered. Some libraries keep their own session.
    if (await authorize.isVisible()) await authorize.click();
    await site.arrives(page, origin);
    const again = await site.userOn(page, origin);
    expect(
      'the same user',
      again.claims?.['sub'] === claims?.['sub'] && again.userinfo?.['email'] === ANN,
      again,
    );
    done('signs in again without a login');

    if (refreshes) {
      await site.refresh(page, origin);
      done('refreshes');
    }
    if (backChannel !== undefined) {
      await platform.auth.revoke({ userId: '1' });
      const deadline = performance.now() + 10_000;
      do await page.goto(`${origin}/user`);
      while (!(await page.content()).includes('{"signedIn":false}') && performance.now() < deadline);
      expect('signed out by the server', (await page.content()).includes('{"signedIn":false}'));
      done('is told over the back channel that the user is signed out');
      await site.logIn(page, origin);
      await logIn(page);
    }
    if (logsOut) {
      await site.logOut(page, origin);
      await site.logIn(page, origin);
      await page.getByLabel('Password').waitFor();
      done('logs out at the server, and comes back');
    }
    await context.close();
  });
}
await browser.close();
process.exitCode = transcript.status;
