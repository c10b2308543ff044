// Alone, first: one tab after the other.
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { Page } from 'playwright-core';

import { documentOptions, requestOf, serveApp } from '../clients/documents.ts';
import { passTime } from '../harness/clock.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { Mounting, Platform, RegisteredApp } from '../harness/platform.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { pausable } from '../harness/storage.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { chromiumTest, openTabIn, openTab } from './chromium.ts';
import { startClientApp } from './client-app.ts';
import type { ClientApp } from './client-app.ts';
import { INPUT_METHODS, keyboard, mouse, signIn } from './input-methods.ts';

const test = chromiumTest();

const ANN = { email: 'ann@school.example', password: 'correct horse' };
const EXPIRED = 'This sign-in is no longer open';

/** A platform, and a client app at another origin that is registered there. */
interface Setup extends AsyncDisposable {
  readonly platform: Platform;
  readonly client: ClientApp;
  readonly app: RegisteredApp;
  /** Opens the app's authorization URL. */
  start(page: Page, parameters?: Record<string, string>): Promise<void>;
}

async function start(
  options: Parameters<typeof startPlatform>[0] = {},
  fields: Parameters<Platform['registerApp']>[0] = {},
  mounting?: Mounting,
): Promise<Setup> {
  const platform = await startPlatform(options, mounting);
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

const SCOPES = {
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
  'schools:write': { description: 'Change your schools', permissions: ['edit_schools'], optional: true },
  profile: { description: 'See your name', permissions: [], optional: true },
} as const;

/** The scope of a token for the last code that the app received. */
async function grantedScope({ app, client, platform }: Setup): Promise<string | undefined> {
  const { body } = await exchangeCode(platform, app, client.callbacks.at(-1)?.get('code'));
  return body.scope;
}

/** Waits for the page that the client app redirects to. */
async function arrive(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Welcome back' }).waitFor();
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
}

for (const [name, input] of Object.entries(INPUT_METHODS)) {
  test(`by ${name}: sign in, authorize, and return to an app whose callback redirects to a third origin`, async (t) => {
    await using setup = await start();
    await using page = await openTab(input.options);
    await setup.start(page, { scope: 'schools:read' });
    await signIn(page, input, { ...ANN, password: 'wrong' });
    await page.getByRole('alert').waitFor();
    t.is(await page.getByLabel('Email').inputValue(), ANN.email);
    await input.type(page, 'Password', ANN.password);
    await input.choose(page, 'button', 'Sign in');
    await heading(page, 'Authorize Reports');
    await input.choose(page, 'button', 'Authorize');
    await arrive(page);
    t.is(page.url(), setup.client.home);
    t.is(setup.client.callbacks[0]?.get('state'), 'xyz');
    const token = await exchangeCode(setup.platform, setup.app, setup.client.callbacks[0]?.get('code'));
    t.is(token.body.scope, 'schools:read');
    t.deepEqual(page.consoleMessages, []);
  });

  test(`by ${name}: authorize an app that nobody registered, after the page has said who asks`, async (t) => {
    const site = await serveApp(t, { client_name: 'Reports' });
    await using setup = await start(documentOptions(), {}, ON_LOOPBACK);
    site.document = { ...site.document, redirect_uris: [setup.client.loopbackRedirectUri] };
    const { host } = new URL(site.id);
    for (const { lang, login, heading: title, caution, says, button } of [
      {
        lang: 'en',
        login: ['Email', 'Password', 'Sign in'],
        heading: `Authorize ${host}`,
        caution: 'Nobody has checked this app',
        says: /calls its app “Reports”.*Any program there can pass itself off as this app/s,
        button: 'Authorize',
      },
      {
        lang: 'de',
        login: ['E-Mail-Adresse', 'Passwort', 'Anmelden'],
        heading: `Zugriff für ${host} erlauben?`,
        caution: 'Niemand hat diese App geprüft',
        says: /nennt diese App „Reports“.*Jedes Programm dort kann sich für diese App ausgeben/s,
        button: 'Zugriff erlauben',
      },
    ] as const) {
      await using page = await openTab({ ...input.options, locale: lang });
      const url = requestOf(setup.platform, site.id, { redirect_uri: setup.client.loopbackRedirectUri });
      await page.goto(url.href);
      await input.type(page, login[0], ANN.email);
      await input.type(page, login[1], ANN.password);
      await input.choose(page, 'button', login[2]);
      await heading(page, title);
      const warning = page.getByRole('region', { name: caution });
      t.regex((await warning.textContent()) ?? '', says);
      t.true(await page.getByText(new URL(setup.client.loopbackRedirectUri).origin).isVisible());
      await input.choose(page, 'button', button);
      await arrive(page);
      t.truthy(setup.client.callbacks.at(-1)?.get('code'));
      t.deepEqual(page.consoleMessages, []);
    }
  });

  test(`by ${name}: uncheck a scope, and grant it when the app asks again`, async (t) => {
    await using setup = await start({ scopes: SCOPES });
    await using page = await openTab(input.options);
    const scope = 'schools:read schools:write profile';
    await setup.start(page, { scope });
    await signIn(page, input, ANN);
    await heading(page, 'Authorize Reports');
    await input.choose(page, 'checkbox', 'Change your schools');
    await input.choose(page, 'button', 'Authorize');
    await arrive(page);
    t.is(await grantedScope(setup), 'schools:read profile');

    await setup.start(page, { scope });
    const boxes = page.getByRole('group', { name: 'You choose whether it can:' });
    t.is(await boxes.getByRole('checkbox', { checked: true }).count(), 1);
    t.false(await page.getByText('See your schools').isVisible());
    await input.choose(page, 'button', 'Authorize');
    await arrive(page);
    t.is(await grantedScope(setup), scope);
    t.deepEqual(page.consoleMessages, []);
  });

  test(`by ${name}: deny, and the app receives access_denied`, async (t) => {
    await using setup = await start();
    await using page = await openTab(input.options);
    await setup.start(page);
    await signIn(page, input, ANN);
    await input.choose(page, 'button', 'Deny');
    await arrive(page);
    t.is(setup.client.callbacks[0]?.get('error'), 'access_denied');
    t.is(setup.client.callbacks[0]?.get('state'), 'xyz');
    t.deepEqual(page.consoleMessages, []);
  });
}

test('the login form may lead to a third origin, for a first-party client without a consent page', async (t) => {
  await using setup = await start({}, { firstParty: true });
  await using page = await openTab();
  await setup.start(page);
  await signIn(page, mouse, ANN);
  await arrive(page);
  t.truthy(setup.client.callbacks[0]?.get('code'));
  t.deepEqual(page.consoleMessages, []);
});

test('“Not you?” leads to the login page, and another user can sign in', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.start(page);
  await signIn(page, keyboard, ANN);
  await keyboard.choose(page, 'button', 'Not you?');
  await heading(page, 'Sign in');
  await signIn(page, keyboard, { email: 'bob@school.example', password: 'battery staple' });
  await heading(page, 'Authorize Reports');
  t.true(await page.getByText('bob@school.example').isVisible());
  await keyboard.choose(page, 'button', 'Authorize');
  await arrive(page);
  t.deepEqual(page.consoleMessages, []);
});

test('when every box is unchecked, the page says so, and its link leads to the first box', async (t) => {
  await using setup = await start({ scopes: SCOPES });
  await using page = await openTab();
  await setup.start(page, { scope: 'profile' });
  await signIn(page, keyboard, ANN);
  await keyboard.choose(page, 'checkbox', 'See your name');
  await keyboard.choose(page, 'button', 'Authorize');
  const message = 'Leave at least one box checked, or refuse the access altogether.';
  await keyboard.choose(page, 'link', message);
  t.true(
    await page.getByRole('checkbox', { name: 'See your name' }).evaluate((box) => box.matches(':focus')),
  );
  await page.keyboard.press('Space');
  await keyboard.choose(page, 'button', 'Authorize');
  await arrive(page);
  t.is(await grantedScope(setup), 'profile');
});

test('back to the consent page after the consent: it issues a code only when submitted again', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.start(page);
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

test('a second click on "Authorize" while the first is processed: one consent, one code', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  await using setup = await start({ storage });
  await using page = await openTab();
  await setup.start(page);
  await signIn(page, mouse, ANN);
  await heading(page, 'Authorize Reports');
  const { reached, resume } = pause('consents.add');
  await clickTwice(page, 'Authorize', reached);
  resume();
  await arrive(page);
  t.is(setup.client.callbacks.length, 1);
  t.truthy(setup.client.callbacks[0]?.get('code'));
  t.deepEqual(page.consoleMessages, []);
});

test('a second click on "Sign in" while the first is processed: the user is signed in', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
  await using setup = await start({ storage });
  await using page = await openTab();
  await setup.start(page);
  await page.getByLabel('Email').fill(ANN.email);
  await page.getByLabel('Password').fill(ANN.password);
  const { reached, resume } = pause('sessions.insert');
  await clickTwice(page, 'Sign in', reached);
  resume();
  await heading(page, 'Authorize Reports');
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  t.is(setup.client.callbacks.length, 1);
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

test('an expired login page says so, and the app can start again', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.start(page);
  passTime(2 * HOUR);
  try {
    await signIn(page, mouse, ANN);
    await heading(page, EXPIRED);
    t.true(await page.getByText('Go back to the app and start again.').isVisible());
    await setup.start(page);
    await signIn(page, mouse, ANN);
    await mouse.choose(page, 'button', 'Authorize');
    await arrive(page);
    t.deepEqual(page.consoleMessages, []);
  } finally {
    passTime(-2 * HOUR);
  }
});

test('an expired consent page issues no code', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.start(page);
  await signIn(page, mouse, ANN);
  await heading(page, 'Authorize Reports');
  passTime(2 * HOUR);
  try {
    await mouse.choose(page, 'button', 'Authorize');
    await heading(page, EXPIRED);
    t.deepEqual(setup.client.callbacks, []);
  } finally {
    passTime(-2 * HOUR);
  }
});

const HOUR = 3600;

test('two concurrent authorizations in two tabs return their own states, in either order', async (t) => {
  await using setup = await start();
  await using first = await openTab();
  const second = await openTabIn(first.context());
  await setup.start(first, { state: 'first', scope: 'schools:read' });
  await setup.start(second, { state: 'second' });
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
    t.is(setup.client.callbacks.at(-1)?.get('state'), state);
    t.deepEqual(tab.consoleMessages, []);
  }
});

test('the same login page in another tab asks for the password again, and then uses the consent given', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.start(page);
  const address = page.url();
  const otherTab = await openTabIn(page.context());
  await otherTab.goto(address);
  await signIn(page, mouse, ANN);
  await mouse.choose(page, 'button', 'Authorize');
  await arrive(page);
  await otherTab.reload();
  await heading(otherTab, 'Sign in');
  await signIn(otherTab, mouse, { ...ANN, password: 'wrong' });
  await otherTab.getByRole('alert').waitFor();
  t.is(setup.client.callbacks.length, 1);
  await signIn(otherTab, mouse, ANN);
  await arrive(otherTab);
  t.is(setup.client.callbacks.length, 2);
  t.deepEqual([...page.consoleMessages, ...otherTab.consoleMessages], []);
});

test('the login form has the attributes for password managers and phone keyboards', async (t) => {
  await using setup = await start();
  await using page = await openTab();
  await setup.start(page, { login_hint: ANN.email });
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
