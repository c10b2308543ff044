import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { Page } from 'playwright-core';

import { passwordOf, startDeveloperPlatform } from '../developer/developers.ts';
import type { DeveloperPlatform } from '../developer/developers.ts';
import { connect } from '../harness/platform.ts';
import { held } from '../harness/storage.ts';
import { chromiumTest, openTab } from './chromium.ts';
import { EVERY_WAY, mouse, signIn } from './hands.ts';

const test = chromiumTest();

/** What is on the clipboard, pasted into the search field of the list. */
async function pasted(page: Page, platform: DeveloperPlatform): Promise<string> {
  await page.goto(platform.url('/developer/apps').href);
  await page.getByLabel('Search by name').focus();
  await page.keyboard.press('Control+v');
  return page.getByLabel('Search by name').inputValue();
}

for (const [name, hands] of Object.entries(EVERY_WAY)) {
  test(`by ${name}: create an app, copy its secret, get a token with it, see it in Activity`, async (t) => {
    await using platform = await startDeveloperPlatform();
    await using page = await openTab(hands.options);
    await page.goto(platform.url('/developer/apps').href);
    await signIn(page, hands, passwordOf('dora'));

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
    await signIn(page, hands, passwordOf('ann'));
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
  await signIn(page, mouse, passwordOf('dora'));
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
  await signIn(page, mouse, passwordOf('dora'));
  await page.getByLabel('Name', { exact: true }).fill('Typed with care');
  await page.context().clearCookies();
  await mouse.choose(page, 'button', 'Save');

  const opened = page.waitForEvent('popup');
  await mouse.choose(page, 'link', 'Sign in in another tab');
  const beside = await opened;
  await signIn(beside, mouse, passwordOf('dora'));
  await beside.getByRole('heading', { name: 'Nightly import' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Typed with care' }).waitFor();
  t.is((await platform.auth.clients.find(client.id))?.name, 'Typed with care');
});
