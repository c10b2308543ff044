import { devices } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { Page } from 'playwright-core';

import { beginOn, poll, registerDevice } from '../../devices/device.ts';
import { authorizeUrl, startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { pausable } from '../../harness/storage.ts';
import { exchangeCode } from '../../harness/tokens.ts';
import { chromiumTest, openTab, openTabIn } from './chromium.ts';
import { startClientApp } from './client-app.ts';
import { INPUT_METHODS, keyboard, mouse, signIn } from './input-methods.ts';

const test = chromiumTest();

const ANN = { email: 'ann@school.example', password: 'correct horse' };

const SCOPES = {
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
  'schools:write': { description: 'Change your schools', permissions: ['edit_schools'], optional: true },
  profile: { description: 'See your name', permissions: [], optional: true },
} as const;

/** Starts a platform, and a client app at another origin that is registered there. */
async function start(
  options: Parameters<typeof startPlatform>[0] = {},
  fields: Parameters<Platform['registerApp']>[0] = {},
) {
  const platform = await startPlatform({ scopes: SCOPES, features: [devices()], ...options });
  const client = await startClientApp();
  const app = await platform.registerApp({ redirectUris: [client.redirectUri], ...fields });
  return {
    platform,
    client,
    /** Opens the app's authorization URL. */
    async open(page: Page, parameters?: Record<string, string>): Promise<void> {
      await page.goto(authorizeUrl(platform, app, parameters).href);
    },
    /** The scope of a token for the last code that the app received. */
    async grantedScope(): Promise<string | undefined> {
      return (await exchangeCode(platform, app, client.callbacks.at(-1)?.get('code'))).body.scope;
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await platform[Symbol.asyncDispose]();
    },
  };
}

/** Waits for the page that the client app redirects to. */
async function arrive(page: Page): Promise<void> {
  await heading(page, 'Welcome back');
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
}

for (const [name, input] of Object.entries(INPUT_METHODS)) {
  test(`by ${name}: sign in, authorize, and return to an app whose callback redirects to a third origin; uncheck a scope, grant it later, and deny`, async (t) => {
    await using setup = await start();
    await using page = await openTab(input.options);
    const scope = 'schools:read schools:write profile';
    await setup.open(page, { scope });
    await signIn(page, input, { ...ANN, password: 'wrong' });
    await page.getByRole('alert').waitFor();
    t.is(await page.getByLabel('Email').inputValue(), ANN.email);
    await input.type(page, 'Password', ANN.password);
    await input.choose(page, 'button', 'Sign in');
    await heading(page, 'Authorize Reports');
    await input.choose(page, 'checkbox', 'Change your schools');
    await input.choose(page, 'button', 'Authorize');
    await arrive(page);
    t.is(page.url(), setup.client.home);
    t.is(setup.client.callbacks[0]?.get('state'), 'xyz');
    t.is(await setup.grantedScope(), 'schools:read profile');

    await setup.open(page, { scope });
    const boxes = page.getByRole('group', { name: 'You choose whether it can:' });
    t.is(await boxes.getByRole('checkbox', { checked: true }).count(), 1);
    t.false(await page.getByText('See your schools').isVisible());
    await input.choose(page, 'button', 'Authorize');
    await arrive(page);
    t.is(await setup.grantedScope(), scope);

    await setup.open(page, { prompt: 'consent' });
    await input.choose(page, 'button', 'Deny');
    await arrive(page);
    t.is(setup.client.callbacks.at(-1)?.get('error'), 'access_denied');
    t.deepEqual(page.consoleMessages, []);
  });
}

test('the login form may lead to a third origin, for a first-party client without a consent page', async (t) => {
  await using setup = await start({}, { firstParty: true });
  await using page = await openTab();
  await setup.open(page);
  await signIn(page, mouse, ANN);
  await arrive(page);
  t.truthy(setup.client.callbacks[0]?.get('code'));
  t.deepEqual(page.consoleMessages, []);
});

test('when every box is unchecked, the page says so, and its link leads to the first box', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.open(page, { scope: 'profile' });
  await signIn(page, keyboard, ANN);
  await keyboard.choose(page, 'checkbox', 'See your name');
  await keyboard.choose(page, 'button', 'Authorize');
  const message = 'Leave at least one box checked, or refuse the access altogether.';
  await keyboard.choose(page, 'link', message);
  const box = page.getByRole('checkbox', { name: 'See your name' });
  t.true(await box.evaluate((element) => element.matches(':focus')));
  await page.keyboard.press('Space');
  await keyboard.choose(page, 'button', 'Authorize');
  await arrive(page);
  t.is(await setup.grantedScope(), 'profile');
});

test('back to the consent page after the consent: it issues a code only when submitted again', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.open(page);
  await signIn(page, mouse, ANN);
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  await page.goBack();
  await heading(page, 'Authorize Reports');
  await page.goForward();
  await arrive(page);
  t.is(setup.client.callbacks.length, 1);
  await page.goBack();
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  const [first, second, ...more] = setup.client.callbacks;
  t.is(second?.get('state'), 'xyz');
  t.truthy(second?.get('code'));
  t.not(second?.get('code'), first?.get('code'));
  t.is(more.length, 0);
  t.deepEqual(page.consoleMessages, []);
});

/** Clicks a button, and again when the server processes the first request, without waiting for a page. */
async function clickTwice(page: Page, name: string, processing: Promise<void>): Promise<void> {
  const box = await page.getByRole('button', { name, exact: true }).boundingBox();
  const click = async (): Promise<void> => page.mouse.click(box!.x + 5, box!.y + 5);
  await click();
  await processing;
  await click();
}

test('a second click on "Sign in" or "Authorize" while the first is processed: one consent, one code', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  await using setup = await start({ storage });
  await using page = await openTab();
  await setup.open(page);
  await page.getByLabel('Email').fill(ANN.email);
  await page.getByLabel('Password').fill(ANN.password);
  const signingIn = pause('sessions.insert');
  await clickTwice(page, 'Sign in', signingIn.reached);
  signingIn.resume();
  await heading(page, 'Authorize Reports');
  const authorizing = pause('consents.add');
  await clickTwice(page, 'Authorize', authorizing.reached);
  authorizing.resume();
  await arrive(page);
  t.is(setup.client.callbacks.length, 1);
  t.truthy(setup.client.callbacks[0]?.get('code'));
  t.deepEqual(page.consoleMessages, []);
});

test('the same login page in another tab asks for the password again, and then uses the consent given', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.open(page);
  const otherTab = await openTabIn(page.context());
  await otherTab.goto(page.url());
  await signIn(page, mouse, ANN);
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  await otherTab.reload();
  await heading(otherTab, 'Sign in');
  await signIn(otherTab, mouse, ANN);
  await arrive(otherTab);
  t.is(setup.client.callbacks.length, 2);
  t.deepEqual([...page.consoleMessages, ...otherTab.consoleMessages], []);
});

for (const javaScriptEnabled of [true, false]) {
  test(`response_mode=form_post ${javaScriptEnabled ? 'by the script' : 'by the button'}: the app gets the answer, and redirects`, async (t) => {
    await using setup = await start();
    await using page = await openTab({ javaScriptEnabled });
    await setup.open(page, { response_mode: 'form_post', scope: 'schools:read' });
    await signIn(page, mouse, ANN);
    await mouse.choose(page, 'button', 'Authorize');
    const { origin } = new URL(setup.client.redirectUri);
    if (!javaScriptEnabled) await mouse.choose(page, 'button', `Continue to ${origin}`);
    await arrive(page);
    t.is(setup.client.callbacks[0]?.get('state'), 'xyz');
    t.is(await setup.grantedScope(), 'schools:read');
    t.deepEqual(page.consoleMessages, []);
  });
}

test('type the code of a command line on a phone, sign in, compare the code and connect', async (t) => {
  await using setup = await start();
  const { platform } = setup;
  const app = await registerDevice(platform);
  const scope = 'schools:read schools:write';
  const { device_code: code, user_code: userCode, ...device } = await beginOn(platform, app, { scope });
  await using page = await openTab({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  await page.goto(device.verification_uri);
  await heading(page, 'Connect a device');
  await keyboard.type(page, 'Code', userCode.toLowerCase());
  await keyboard.choose(page, 'button', 'Continue');
  await signIn(page, keyboard, ANN);
  await page.getByText('Continue only if your device or command line shows exactly this code.').waitFor();
  t.is(await page.getByLabel('Code').inputValue(), userCode.toLowerCase());
  await keyboard.choose(page, 'button', 'Continue');

  await heading(page, 'Connect School CLI on a device?');
  t.true(await page.getByText(userCode, { exact: true }).isVisible());
  for (const line of ['School CLI', 'See your schools', 'The request came from', 'Signed in as'])
    t.true(await page.getByText(line).first().isVisible(), line);
  const [deny, connect] = await Promise.all(
    ['Deny', 'Connect'].map(async (button) => page.getByRole('button', { name: button }).boundingBox()),
  );
  t.is(deny?.height, connect?.height);
  t.is(await page.evaluate('document.documentElement.scrollWidth'), 390);
  await keyboard.choose(page, 'checkbox', 'Change your schools');
  await keyboard.choose(page, 'button', 'Connect');
  await heading(page, 'Your device is connected');
  const { body, status } = await poll(platform, app, code);
  t.is(status, 200);
  t.is(body?.['scope'], 'schools:read');
  t.deepEqual(page.consoleMessages, []);
});
