/**
 * Applications that sign users in with libraries and servers that nobody here wrote, which get a discovery URL, an id and a secret:
 * in Chromium a user logs in and consents, the application reads the claims and userinfo, and refreshes and logs out at the server as far
 * as its library can; an app with a back-channel logout learns when the user is signed out. Prints a transcript in Markdown. Installs the
 * libraries from npm into a temporary folder; those of Debian are left out where they are missing.
 *
 *     npm run trial -- relying-parties.ts [LIBRARY]
 */
import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { chromium } from 'playwright-core';
import type { Page } from 'playwright-core';

import { freePort } from '../../test/harness/free-port.ts';
import { startPlatform } from '../../test/harness/platform.ts';
import { CHROMIUM } from '../chromium.ts';
import { installAgents } from './agents-install.ts';
import { startAgent } from './agents-program.ts';
import { expect, Transcript } from './agents-transcript.ts';
import { temporaryFolder } from './servers.ts';

/** An application, and what it can do with its library besides to sign a user in. */
interface RelyingParty {
  readonly library: string;
  /** The package of Debian that the library is in, with a file of it. @default one of npm */
  readonly debian?: { readonly name: string; readonly file: string };
  readonly program: string;
  /** How the program is run, with its file and with what it has to know. @default with Node.js, as an argument each */
  readonly run?: (file: string, given: readonly string[]) => readonly [string, ...string[]];
  /** The path that its library redirects the user back to. */
  readonly callback?: string;
  readonly isPublic?: boolean;
  readonly refreshes?: boolean;
  /** Whether it sends the user to the server to log out. */
  readonly logsOut?: boolean;
  /** The path of its back-channel logout. */
  readonly backChannel?: string;
}

const ALL: readonly RelyingParty[] = [
  { library: 'openid-client', program: 'openid-client.js', refreshes: true, logsOut: true },
  { library: 'openid-client-5', program: 'openid-client-5.js', refreshes: true, logsOut: true },
  { library: 'oauth4webapi', program: 'oauth4webapi.js', refreshes: true, logsOut: true },
  { library: 'oidc-client-ts', program: 'oidc-client-ts.js', isPublic: true, refreshes: true, logsOut: true },
  {
    library: 'express-openid-connect',
    program: 'express-openid-connect.js',
    logsOut: true,
    backChannel: '/backchannel-logout',
  },
  { library: 'passport-openidconnect', program: 'passport-openidconnect.js' },
  { library: '@auth/core', program: 'auth-core.js', callback: '/auth/callback/gatehouse' },
  { library: 'better-auth', program: 'better-auth.js', callback: '/api/auth/callback/gatehouse' },
  {
    library: 'Authlib',
    debian: { name: 'python3-authlib python3-flask', file: '/usr/lib/python3/dist-packages/authlib' },
    program: 'flask-authlib.py',
    run: (file, given) => ['/usr/bin/python3', file, ...given],
  },
  {
    library: 'python-social-auth',
    debian: {
      name: 'python3-social-django python3-jose',
      file: '/usr/lib/python3/dist-packages/social_django',
    },
    program: 'django-social.py',
    run: (file, given) => ['/usr/bin/python3', file, ...given],
    callback: '/complete/oidc/',
    refreshes: true,
  },
  {
    library: 'mod_auth_openidc',
    debian: {
      name: 'libapache2-mod-auth-openidc',
      file: '/usr/lib/apache2/modules/mod_auth_openidc.so',
    },
    program: 'mod_auth_openidc.conf',
    logsOut: true,
    // It takes them from the environment.
    run: (file) => ['/usr/sbin/apache2', '-X', '-f', file],
  },
];
const [only] = process.argv.slice(2);
const RELYING_PARTIES = ALL.filter(({ library }) => only === undefined || library === only);
const ANN = 'ann@school.example';

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
  clients: { documents: { allow: () => false, scopes: ['schools:read'], loopback: true } },
});
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
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

/** What an application says of its user. */
async function userOn(page: Page): Promise<{
  readonly claims?: Record<string, unknown>;
  readonly userinfo?: Record<string, unknown>;
}> {
  await page.waitForURL('**/user');
  return JSON.parse(await page.locator('body').innerText()) as Awaited<ReturnType<typeof userOn>>;
}

for (const {
  backChannel,
  callback = '/callback',
  debian,
  isPublic,
  library,
  logsOut,
  program,
  refreshes,
  run = runNode,
} of RELYING_PARTIES) {
  const name = debian ? `${library} of ${debian.name}` : installed.named(library);
  if (debian && !existsSync(debian.file)) {
    console.warn(`SKIPPED, ${library}: apt-get install ${debian.name}`);
    continue;
  }
  await transcript.program(name, async (done) => {
    const port = await freePort();
    // Another host name than that of the server, so that the two share no cookies.
    const origin = `http://localhost:${port}`;
    const { client, secret } = await platform.registerApp({
      name: library,
      redirectUris: [origin + callback],
      postLogoutRedirectUris: [`${origin}/left`],
      ...(isPublic ? { confidential: false } : {}),
      ...(backChannel === undefined ? {} : { backchannelLogoutUri: origin + backChannel }),
    });
    const given = {
      ISSUER: platform.origin,
      CLIENT_ID: client.id,
      CLIENT_SECRET: secret,
      PORT: `${port}`,
    };
    const [executable, ...words] = run(installed.file(program), Object.values(given));
    const environment = { ...given, FOLDER: folder.path };
    await using _app = startAgent(folder.path, words, { environment, program: executable });
    await listens(`${origin}/left`);

    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(`${origin}/login`);
    const said = await logIn(page);
    expect('what the app asks for', /email address/i.test(said), said);
    const { claims, userinfo } = await userOn(page);
    expect('sub', claims?.['sub'] === '1', claims);
    expect('the email of userinfo', userinfo?.['email'] === ANN, userinfo);
    done(
      `signs in: sub \`${String(claims?.['sub'])}\`, \`${String(userinfo?.['name'])}\`, \`${String(userinfo?.['email'])}\``,
    );

    await page.goto(`${origin}/login`);
    const authorize = page.getByRole('button', { name: 'Authorize' });
    await Promise.any([authorize.waitFor(), page.waitForURL('**/user')]);
    // A consent to an app on the user's own machine is not remembered. Some libraries keep their own session.
    if (await authorize.isVisible()) await authorize.click();
    const again = await userOn(page);
    expect('the same user', again.claims?.['sub'] === '1', again);
    done('signs in again without a login');

    if (refreshes) {
      await page.goto(`${origin}/refresh`);
      await page.getByText('{"refreshed":true}').waitFor();
      done('refreshes');
    }
    if (backChannel !== undefined) {
      await platform.auth.revoke({ user: '1' });
      const deadline = performance.now() + 10_000;
      do await page.goto(`${origin}/user`);
      while (!(await page.content()).includes('{"signedIn":false}') && performance.now() < deadline);
      expect('signed out by the server', (await page.content()).includes('{"signedIn":false}'));
      done('is told over the back channel that the user is signed out');
      await page.goto(`${origin}/login`);
      await logIn(page);
    }
    if (logsOut) {
      await page.goto(`${origin}/logout`);
      await page.waitForURL(`${origin}/left**`);
      await page.goto(`${origin}/login`);
      await page.getByLabel('Password').waitFor();
      done('logs out at the server, and comes back');
    }
    await context.close();
  });
}
await browser.close();
process.exitCode = transcript.status;
