import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { signIn } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';
import { serveExample } from './served-example.ts';

const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { announced } = example;
  const portal = `${announced.base_url}/portal`;
  return { example, announced, portal };
});

async function connect(browser: Browser, login: string, choice = 'Authorize'): Promise<Page> {
  const { announced, portal } = await started();
  const { password } = announced.users.find((user) => user.login === login)!;
  const start = await browser.open(portal);
  const [, link = ''] = /href="([^"]+)">Connect</.exec(start.html) ?? [];
  const consent = await signIn(browser, await browser.open(link), login, password);
  return browser.follow(await browser.submit(consent, choice));
}

test('a user connects the portal, views schools, refreshes the token and disconnects; a form of another site does not', async (t) => {
  const { portal } = await started();
  const browser = new Browser();
  const connected = await connect(browser, 'ruth@platform.example');
  t.is(connected.heading, 'Hello, Ruth Lindgren');
  t.regex(connected.text, /^Connected\..*Harbour School Rotterdam Open/);
  // The browser gets no token.
  t.false(connected.html.includes('eyJ'));

  // It is refused: the portal is still connected afterwards.
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  await browser.post(new URL(`${portal}/disconnect`), new URLSearchParams(), headers);
  const refreshed = await browser.follow(await browser.submit(connected, 'Refresh token'));
  t.regex(refreshed.text, /The portal has a new access token\./);
  t.not(tokenEnding(refreshed), tokenEnding(connected));
  t.is(refreshed.heading, 'Hello, Ruth Lindgren');

  const reloaded = await browser.open(portal);
  t.notRegex(reloaded.text, /The portal has a new access token/);
  const disconnected = await browser.follow(await browser.submit(reloaded, 'Disconnect'));
  t.regex(disconnected.text, /Disconnected\./);
  t.is(disconnected.heading, 'See your schools here');
});

function tokenEnding(page: Page): string | undefined {
  return /ends with (\S+)/.exec(page.text)?.[1];
}

test('a user without the permission sees a message that explains it', async (t) => {
  const page = await connect(new Browser(), 'tom@platform.example');
  t.is(page.heading, 'Hello, Tom Bauer');
  t.regex(page.text, /Missing permission to view schools\..*Ask your school’s office/);
});

test('a user who denies is not connected, and the page says that this is possible', async (t) => {
  const page = await connect(new Browser(), 'ada@platform.example', 'Deny');
  t.is(page.heading, 'See your schools here');
  t.regex(page.text, /You chose not to connect/);
});

test('a response with an unknown state connects no account', async (t) => {
  const { portal, announced } = await started();
  const browser = new Browser();
  await browser.get(`${portal}/connect`);
  const answer = { code: 'stolen', state: 'guessed', iss: announced.base_url };
  const page = await browser.open(`${portal}/callback?${String(new URLSearchParams(answer))}`);
  t.regex(page.text, /does not belong to a request of the portal/);
});

test('the portal’s cookie is SameSite=Lax and HttpOnly', async (t) => {
  const { portal } = await started();
  const browser = new Browser();
  await connect(browser, 'ruth@platform.example');
  const { value: _, ...cookie } = browser.cookies.find(({ name }) => name === 'partner_portal')!;
  const { hostname: host } = new URL(portal);
  const expected = { host, path: '/portal', secure: false, httpOnly: true, sameSite: 'lax' };
  t.deepEqual(cookie, { name: 'partner_portal', ...expected });
});

test('only the owner can read the file with the portal’s secret', async (t) => {
  const { example, announced } = await started();
  const file = join(example.dataDirectory, 'partner-portal.json');
  t.is((await stat(file)).mode & 0o777, 0o600);
  const { clientSecret } = JSON.parse(await readFile(file, 'utf8'));
  t.is(clientSecret, announced.clients[0]!.client_secret);
});
