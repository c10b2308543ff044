import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { BrowserContextOptions, Page } from 'playwright-core';

import { passwordOf, startDeveloperPlatform } from '../apps/developers.ts';
import type { DeveloperPlatform, Member } from '../apps/developers.ts';
import { connect } from '../harness/platform.ts';
import { held } from '../harness/storage.ts';
import { chromiumTest, openTab } from './chromium.ts';

const test = chromiumTest();

/** How a person gets about on a page. */
interface Hands {
  readonly options: BrowserContextOptions;
  /** Follows a link, presses a button, checks a box. */
  choose(page: Page, role: 'link' | 'button' | 'radio' | 'checkbox', name: string): Promise<void>;
  type(page: Page, label: string, text: string): Promise<void>;
  /** Takes the secret that a page shows to the clipboard. */
  copySecret(page: Page): Promise<void>;
}

const mouse: Hands = {
  options: {},
  choose: async (page, role, name) => page.getByRole(role, { name, exact: true }).click(),
  type: async (page, label, text) => page.getByLabel(label, { exact: true }).fill(text),
  async copySecret(page) {
    await page.getByRole('button', { name: 'Copy Client secret' }).click();
    await page.getByText('Copied').waitFor();
  },
};

const keyboard: Hands = {
  options: {},
  async choose(page, role, name) {
    await tabTo(page, role, name);
    await page.keyboard.press(role === 'link' || role === 'button' ? 'Enter' : 'Space');
  },
  async type(page, label, text) {
    await tabTo(page, 'textbox', label);
    await page.keyboard.type(text);
  },
  async copySecret(page) {
    // It has the focus, and is selected once the script has run.
    await page.getByRole('button', { name: 'Copy Client secret' }).waitFor();
    await page.keyboard.press('Control+c');
  },
};

const withoutScript: Hands = {
  ...keyboard,
  options: { javaScriptEnabled: false },
  async copySecret(page) {
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Control+c');
  },
};

/** Presses Tab, or an arrow among radio buttons, until the focus is there; it has to be visible all the way. */
async function tabTo(
  page: Page,
  role: 'link' | 'button' | 'radio' | 'checkbox' | 'textbox',
  name: string,
): Promise<void> {
  const goal = page.getByRole(role, { name, exact: true });
  await goal.waitFor();
  for (let presses = 0; presses < 60; presses += 1) {
    if ((await goal.and(page.locator(':focus')).count()) === 1) return;
    const atRadio = await page.evaluate<boolean>("document.activeElement.matches('[type=radio]')");
    await page.keyboard.press(role === 'radio' && atRadio ? 'ArrowDown' : 'Tab');
    const isVisible = await page.evaluate<boolean>(FOCUS_IS_VISIBLE);
    if (!isVisible)
      throw new Error(`The focus is not visible on the way to ${role} "${name}" on ${page.url()}`);
  }
  throw new Error(`Tab does not lead to ${role} "${name}" on ${page.url()}`);
}

const FOCUS_IS_VISIBLE = `(() => {
  const { activeElement, body } = document;
  const { outlineStyle, outlineWidth } = getComputedStyle(activeElement);
  return activeElement === body || (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2);
})()`;

async function signIn(page: Page, hands: Hands, member: Member): Promise<void> {
  const { email, password } = passwordOf(member);
  await hands.type(page, 'Email', email);
  await hands.type(page, 'Password', password);
  await hands.choose(page, 'button', 'Sign in');
}

/** What is on the clipboard, pasted into the search field of the list. */
async function pasted(page: Page, platform: DeveloperPlatform): Promise<string> {
  await page.goto(platform.url('/developer/apps').href);
  await page.getByLabel('Search by name').focus();
  await page.keyboard.press('Control+v');
  return page.getByLabel('Search by name').inputValue();
}

for (const [name, hands] of Object.entries({
  mouse,
  keyboard,
  'the keyboard, with JavaScript off': withoutScript,
})) {
  test(`by ${name}: create an app, copy its secret, get a token with it, see it in Activity`, async (t) => {
    await using platform = await startDeveloperPlatform();
    await using page = await openTab(hands.options);
    await page.goto(platform.url('/developer/apps').href);
    await signIn(page, hands, 'dora');

    await hands.choose(page, 'link', 'New app');
    await hands.type(page, 'Name', 'Nightly import');
    t.true(await page.getByLabel('Redirect URIs').isVisible());
    await hands.choose(page, 'radio', 'Client credentials');
    t.false(await page.getByLabel('Redirect URIs').isVisible());
    await hands.choose(page, 'button', 'Create app');
    await page.getByRole('heading', { name: 'Nightly import is created' }).waitFor();

    const [secret, id] = [
      await page.getByRole('textbox', { name: 'Client secret' }).inputValue(),
      await page.getByRole('textbox', { name: 'Client ID' }).inputValue(),
    ];
    await hands.copySecret(page);
    await hands.choose(page, 'link', 'Give it permissions');
    await hands.choose(page, 'checkbox', 'View schools');
    await hands.choose(page, 'button', 'Save');
    await page.getByText('Saved.').waitFor();
    t.is(await pasted(page, platform), secret);

    const { body } = await platform.token({
      grant_type: 'client_credentials',
      client_id: id,
      client_secret: secret,
    });
    t.is((await platform.api('/schools', body.access_token)).status, 200);
    await platform.token({ grant_type: 'client_credentials', client_id: id, client_secret: `${secret}x` });

    await hands.choose(page, 'link', 'Nightly import');
    await hands.choose(page, 'link', 'Activity');
    await page.getByText('Token issued').waitFor();
    t.true(await page.getByText('Token request refused').isVisible());
    t.true(await page.getByText('invalid_client').isVisible());
    t.deepEqual(page.complaints, []);
  });

  test(`by ${name}: disconnect an app and see its token fail`, async (t) => {
    await using platform = await startDeveloperPlatform();
    const app = await platform.registerApp();
    const { body } = await connect(platform, app, { browser: await platform.enter('ann') });
    t.is((await platform.api('/schools', body.access_token)).status, 200);

    await using page = await openTab(hands.options);
    await page.goto(platform.url('/account/apps').href);
    await signIn(page, hands, 'ann');
    await hands.choose(page, 'link', 'Disconnect Reports');
    await hands.choose(page, 'button', 'Disconnect');
    await page.getByText('The app is disconnected.').waitFor();
    t.is((await platform.api('/schools', body.access_token)).status, 401);
    t.deepEqual(page.complaints, []);
  });
}

test('a second click on "Add a secret", while the first is under way, adds no other and loses nothing', async (t) => {
  const { storage, pause } = held(memoryStorage());
  await using platform = await startDeveloperPlatform({ storage });
  const { client } = await platform.registerFor('dora');
  await using page = await openTab();
  await page.goto(platform.url(`/developer/apps/${client.id}/secrets`).href);
  await signIn(page, mouse, 'dora');
  const { reached, resume } = pause('clients.addSecret');
  const button = page.getByRole('button', { name: 'Add a secret' });
  await button.scrollIntoViewIfNeeded();
  const box = await button.boundingBox();
  const click = async (): Promise<void> => page.mouse.click(box!.x + 5, box!.y + 5);
  await click();
  await reached;
  await click();
  resume();
  await page.getByRole('heading', { name: 'A new secret of Nightly import' }).waitFor();
  t.regex(await page.getByRole('textbox', { name: 'Client secret' }).inputValue(), /^gatehouse_secret_/);

  // The form is sent again, as a reload does.
  await page.reload();
  await page.getByText('This form was sent before').waitFor();
  t.is((await platform.auth.clients.secrets(client.id)).length, 2);
  t.deepEqual(page.complaints, []);
});

test('whoever signs out in the middle of a form signs in beside it, and sends it again', async (t) => {
  await using platform = await startDeveloperPlatform();
  const { client } = await platform.registerFor('dora');
  await using page = await openTab();
  await page.goto(platform.url(`/developer/apps/${client.id}`).href);
  await signIn(page, mouse, 'dora');
  await page.getByLabel('Name', { exact: true }).fill('Typed with care');
  await page.context().clearCookies();
  await mouse.choose(page, 'button', 'Save');

  const opened = page.waitForEvent('popup');
  await mouse.choose(page, 'link', 'Sign in in another tab');
  const beside = await opened;
  await signIn(beside, mouse, 'dora');
  await beside.getByRole('heading', { name: 'Nightly import' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Typed with care' }).waitFor();
  t.is((await platform.auth.clients.find(client.id))?.name, 'Typed with care');
});
