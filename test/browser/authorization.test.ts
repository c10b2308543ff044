import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { Page } from 'playwright-core';

import { passTime } from '../harness/clock.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { held } from '../harness/storage.ts';
import { chromiumTest, openBeside, openTab } from './chromium.ts';
import { startClientApp } from './client-app.ts';
import type { ClientApp } from './client-app.ts';
import { EVERY_WAY, keyboard, mouse, signIn } from './hands.ts';

const test = chromiumTest();

const ANN = { email: 'ann@school.example', password: 'correct horse' };
const OVER = 'This sign-in is no longer open';

/** A platform, and an app on origins of its own that is registered there. */
interface Surroundings extends AsyncDisposable {
  readonly platform: Platform;
  readonly client: ClientApp;
  readonly app: RegisteredApp;
  /** Opens the app's authorization URL. */
  start(page: Page, parameters?: Record<string, string>): Promise<void>;
}

async function startBoth(
  options: Parameters<typeof startPlatform>[0] = {},
  fields: Parameters<Platform['registerApp']>[0] = {},
): Promise<Surroundings> {
  const platform = await startPlatform(options);
  const client = await startClientApp();
  const app = await platform.registerApp({ redirectUris: [client.redirectUri], ...fields });
  return {
    platform,
    client,
    app,
    async start(page, parameters) {
      await page.goto(authorizeUrl(platform, app, parameters).href);
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await platform[Symbol.asyncDispose]();
    },
  };
}

/** Waits until people are where the app sends them. */
async function arrive(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Welcome back' }).waitFor();
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
}

for (const [name, hands] of Object.entries(EVERY_WAY)) {
  test(`by ${name}: sign in, authorize, and go back to an app that sends people on to a third origin`, async (t) => {
    await using around = await startBoth();
    await using page = await openTab(hands.options);
    await around.start(page, { scope: 'schools:read' });
    await signIn(page, hands, { ...ANN, password: 'wrong' });
    await page.getByRole('alert').waitFor();
    t.is(await page.getByLabel('Email').inputValue(), ANN.email);
    await hands.type(page, 'Password', ANN.password);
    await hands.choose(page, 'button', 'Sign in');
    await heading(page, 'Authorize Reports');
    await hands.choose(page, 'button', 'Authorize');
    await arrive(page);
    t.is(page.url(), around.client.home);
    t.is(around.client.callbacks[0]?.get('state'), 'xyz');
    const token = await around.platform.token({
      grant_type: 'authorization_code',
      client_id: around.app.client.id,
      client_secret: around.app.secret,
      redirect_uri: around.app.redirectUri,
      code: around.client.callbacks[0]?.get('code'),
    });
    t.is(token.body.scope, 'schools:read');
    t.deepEqual(page.complaints, []);
  });

  test(`by ${name}: deny, and the app hears of it`, async (t) => {
    await using around = await startBoth();
    await using page = await openTab(hands.options);
    await around.start(page);
    await signIn(page, hands, ANN);
    await hands.choose(page, 'button', 'Deny');
    await arrive(page);
    t.is(around.client.callbacks[0]?.get('error'), 'access_denied');
    t.is(around.client.callbacks[0]?.get('state'), 'xyz');
    t.deepEqual(page.complaints, []);
  });
}

test('the login form itself may end at a third origin, when nobody has to be asked', async (t) => {
  await using around = await startBoth({}, { firstParty: true });
  await using page = await openTab();
  await around.start(page);
  await signIn(page, mouse, ANN);
  await arrive(page);
  t.truthy(around.client.callbacks[0]?.get('code'));
  t.deepEqual(page.complaints, []);
});

test('“Not you?” leads to the login page, and somebody else goes on', async (t) => {
  await using around = await startBoth();
  await using page = await openTab();
  await around.start(page);
  await signIn(page, keyboard, ANN);
  await keyboard.choose(page, 'button', 'Not you?');
  await heading(page, 'Sign in');
  await signIn(page, keyboard, { email: 'bob@school.example', password: 'battery staple' });
  await heading(page, 'Authorize Reports');
  t.true(await page.getByText('bob@school.example').isVisible());
  await keyboard.choose(page, 'button', 'Authorize');
  await arrive(page);
  t.deepEqual(page.complaints, []);
});

test('back after the consent: the page is there again, and gives nothing until it is answered again', async (t) => {
  await using around = await startBoth();
  await using page = await openTab();
  await around.start(page);
  await signIn(page, mouse, ANN);
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  await page.goBack();
  await heading(page, 'Authorize Reports');
  await page.goForward();
  await arrive(page);
  t.is(around.client.callbacks.length, 1);
  await page.goBack();
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  const [first, second, ...more] = around.client.callbacks;
  t.is(second?.get('state'), 'xyz');
  t.truthy(second?.get('code'));
  t.not(second?.get('code'), first?.get('code'));
  t.is(more.length, 0);
  t.deepEqual(page.complaints, []);
});

test('a second click on "Authorize" while the first is under way: one consent, one code', async (t) => {
  const { storage, pause } = held(memoryStorage());
  await using around = await startBoth({ storage });
  await using page = await openTab();
  await around.start(page);
  await signIn(page, mouse, ANN);
  await heading(page, 'Authorize Reports');
  const { reached, resume } = pause('consents.add');
  await clickTwice(page, 'Authorize', reached);
  resume();
  await arrive(page);
  t.is(around.client.callbacks.length, 1);
  t.truthy(around.client.callbacks[0]?.get('code'));
  t.deepEqual(page.complaints, []);
});

test('a second click on "Sign in" while the first is under way: the person is signed in', async (t) => {
  const { storage, pause } = held(memoryStorage());
  await using around = await startBoth({ storage });
  await using page = await openTab();
  await around.start(page);
  await page.getByLabel('Email').fill(ANN.email);
  await page.getByLabel('Password').fill(ANN.password);
  const { reached, resume } = pause('sessions.insert');
  await clickTwice(page, 'Sign in', reached);
  resume();
  await heading(page, 'Authorize Reports');
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  t.is(around.client.callbacks.length, 1);
  t.deepEqual(page.complaints, []);
});

/** Clicks a button, and once more when the server is at work; the page does not wait for either. */
async function clickTwice(page: Page, name: string, atWork: Promise<void>): Promise<void> {
  const box = await page.getByRole('button', { name, exact: true }).boundingBox();
  const click = async (): Promise<void> => page.mouse.click(box!.x + 5, box!.y + 5);
  await click();
  await atWork;
  await click();
}

test('a sign-in that was left open for too long says so, and the app starts it again', async (t) => {
  await using around = await startBoth();
  await using page = await openTab();
  await around.start(page);
  passTime(2 * HOUR);
  try {
    await signIn(page, mouse, ANN);
    await heading(page, OVER);
    t.true(await page.getByText('Go back to the app and start again.').isVisible());
    await around.start(page);
    await signIn(page, mouse, ANN);
    await mouse.choose(page, 'button', 'Authorize');
    await arrive(page);
    t.deepEqual(page.complaints, []);
  } finally {
    passTime(-2 * HOUR);
  }
});

test('a consent that was left open for too long gives nothing', async (t) => {
  await using around = await startBoth();
  await using page = await openTab();
  await around.start(page);
  await signIn(page, mouse, ANN);
  await heading(page, 'Authorize Reports');
  passTime(2 * HOUR);
  try {
    await mouse.choose(page, 'button', 'Authorize');
    await heading(page, OVER);
    t.deepEqual(around.client.callbacks, []);
  } finally {
    passTime(-2 * HOUR);
  }
});

const HOUR = 3600;

test('two tabs at once end with their own states, whichever is first', async (t) => {
  await using around = await startBoth();
  await using first = await openTab();
  const second = await openBeside(first.context());
  await around.start(first, { state: 'first', scope: 'schools:read' });
  await around.start(second, { state: 'second' });
  await signIn(second, mouse, ANN);
  await heading(second, 'Authorize Reports');
  await signIn(first, mouse, ANN);
  await heading(first, 'Authorize Reports');
  t.true(await first.getByText('See your schools').isVisible());
  t.false(await second.getByText('See your schools').isVisible());
  for (const [tab, state] of [
    [second, 'second'],
    [first, 'first'],
  ] as const) {
    await mouse.choose(tab, 'button', 'Authorize');
    await arrive(tab);
    t.is(around.client.callbacks.at(-1)?.get('state'), state);
    t.deepEqual(tab.complaints, []);
  }
});

test('a sign-in page in another tab still asks for the password, and then goes on with what was agreed to', async (t) => {
  await using around = await startBoth();
  await using page = await openTab();
  await around.start(page);
  const address = page.url();
  const beside = await openBeside(page.context());
  await beside.goto(address);
  await signIn(page, mouse, ANN);
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  await beside.reload();
  await heading(beside, 'Sign in');
  await signIn(beside, mouse, { ...ANN, password: 'wrong' });
  await beside.getByRole('alert').waitFor();
  t.is(around.client.callbacks.length, 1);
  await signIn(beside, mouse, ANN);
  await arrive(beside);
  t.is(around.client.callbacks.length, 2);
  t.deepEqual([...page.complaints, ...beside.complaints], []);
});

test('what a password manager and the keyboard of a phone look for is there', async (t) => {
  await using around = await startBoth();
  await using page = await openTab();
  await around.start(page, { login_hint: ANN.email });
  const [login, password] = [page.getByLabel('Email'), page.getByLabel('Password')];
  t.is(await login.getAttribute('autocomplete'), 'username');
  t.is(await login.getAttribute('inputmode'), 'email');
  t.is(await login.inputValue(), ANN.email);
  t.is(await password.getAttribute('autocomplete'), 'current-password');
  t.is(await password.getAttribute('maxlength'), null);
  t.true(await password.evaluate((field) => field.matches(':focus')));
  await page.keyboard.type(ANN.password);
  await page.keyboard.press('Enter');
  await heading(page, 'Authorize Reports');
});
