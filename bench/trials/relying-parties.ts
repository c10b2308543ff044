/**
 * Applications that sign users in with libraries and servers that nobody here wrote, which get a discovery URL, an id and a secret:
 * a user logs in and consents, the application reads the claims and userinfo and refreshes. Prints a transcript in Markdown. Installs the libraries from npm into a temporary folder.
 *
 *     npm run trial -- relying-parties.ts
 */
import { Browser } from '../../test/harness/browser.ts';
import type { Page } from '../../test/harness/browser.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { signIn, startPlatform } from '../../test/harness/platform.ts';
import type { Platform } from '../../test/harness/platform.ts';
import { installAgents } from './agents-install.ts';
import { startAgent } from './agents-program.ts';
import { expect, Transcript } from './agents-transcript.ts';
import { temporaryFolder } from './servers.ts';

/** What an application can do with its library, besides to sign a user in. */
interface RelyingParty {
  readonly library: string;
  readonly program: string;
  /** The path that its library redirects the user back to. */
  readonly callback?: string;
  readonly refreshes?: boolean;
}

const RELYING_PARTIES: readonly RelyingParty[] = [
  { library: 'openid-client', program: 'openid-client.js', refreshes: true },
  { library: 'openid-client-5', program: 'openid-client-5.js', refreshes: true },
  { library: 'oauth4webapi', program: 'oauth4webapi.js', refreshes: true },
  {
    library: 'express-openid-connect',
    program: 'express-openid-connect.js',
  },
  { library: 'passport-openidconnect', program: 'passport-openidconnect.js' },
  { library: '@auth/core', program: 'auth-core.js', callback: '/auth/callback/gatehouse' },
  { library: 'better-auth', program: 'better-auth.js', callback: '/api/auth/callback/gatehouse' },
];
const ANN = 'ann@school.example';

/** Follows redirects, also between the application and the server, as browsers do. */
async function open(browser: Browser, url: string | URL): Promise<Page> {
  let page = await browser.get(url);
  for (let hops = 0; page.location !== undefined; hops += 1) {
    if (hops > 20) throw new Error(`too many redirects after ${String(url)}`);
    page = await browser.get(page.location);
  }
  return page;
}

/** Submits a form, and follows its redirects. */
async function press(browser: Browser, page: Page, button: string): Promise<Page> {
  const next = await browser.submit(page, button);
  return next.location === undefined ? next : open(browser, next.location);
}

/** What an application says of its user. */
function userOn(page: Page): {
  readonly claims?: Record<string, unknown>;
  readonly userinfo?: Record<string, unknown>;
} {
  expect('status 200', page.status === 200, page.html.slice(0, 1000));
  return JSON.parse(page.html) as ReturnType<typeof userOn>;
}

const folder = temporaryFolder();
process.on('exit', () => folder[Symbol.dispose]());
const installed = await installAgents(folder.path, 'relying-parties');
const transcript = new Transcript();
await using platform: Platform = await startPlatform({ openid: true });
transcript.line('# Sign in with: libraries of others');

for (const { callback = '/callback', library, program, refreshes } of RELYING_PARTIES) {
  await transcript.program(installed.named(library), async (done) => {
    const origin = `http://localhost:${await freePort()}`;
    const { client, secret } = await platform.registerApp({
      name: library,
      redirectUris: [origin + callback],
    });
    const given = [platform.origin, client.id, secret, new URL(origin).port];
    await using app = startAgent(folder.path, [installed.file(program), ...given]);
    await app.printed(/^listening$/m);

    const browser = new Browser();
    let page = await open(browser, `${origin}/login`);
    expect('the login page', page.html.includes('type="password"'), page.text);
    page = await signIn(browser, page, ANN);
    expect('the consent page', page.html.includes('Authorize</button>'), page.text);
    const said = page.text;
    expect('what the app asks for', /email address/i.test(said), said);
    page = await press(browser, page, 'Authorize');
    expect('an answer of the app', page.status < 400, page.html.slice(0, 1000));
    const { claims, userinfo } = userOn(
      page.url.pathname === '/user' ? page : await open(browser, `${origin}/user`),
    );
    expect('sub', claims?.['sub'] === '1', claims);
    expect('the email of userinfo', userinfo?.['email'] === ANN, userinfo);
    done(
      `signs in: sub \`${String(claims?.['sub'])}\`, \`${String(userinfo?.['name'])}\`, \`${String(userinfo?.['email'])}\``,
    );

    page = await open(browser, `${origin}/login`);
    if (page.url.pathname !== '/user') page = await open(browser, `${origin}/user`);
    expect('signed in again without a page', userOn(page).claims?.['sub'] === '1', page.html);
    done('signs in again without a page');

    if (refreshes) {
      page = await open(browser, `${origin}/refresh`);
      expect('another refresh token', page.html === '{"refreshed":true}', page.html);
      done('refreshes');
    }
  });
}
process.exitCode = transcript.status;
