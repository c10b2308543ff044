import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import type { Page } from 'playwright-core';

import { passwordOf, startDeveloperPlatform } from '../../developer/developers.ts';
import type { DeveloperPlatform } from '../../developer/developers.ts';
import { pausable } from '../../harness/storage.ts';
import { chromiumTest, openTab } from './chromium.ts';
import { INPUT_METHODS, mouse, signIn } from './input-methods.ts';

const test = chromiumTest();

/** The text of the clipboard, pasted into the search field of the list. */
async function pasted(page: Page, platform: DeveloperPlatform): Promise<string> {
  await page.goto(platform.url('/developer/apps').href);
  const field = page.getByLabel('Search by the beginning of the name');
  await field.focus();
  await page.keyboard.press('Control+v');
  return field.inputValue();
}

for (const [name, input] of Object.entries(INPUT_METHODS)) {
  test(`by ${name}: create an app, copy its secret, get a token with it, see it in Activity`, async (t) => {
    await using platform = await startDeveloperPlatform();
    await using page = await openTab(input.options);
    await page.goto(platform.url('/developer/apps').href);
    await signIn(page, input, passwordOf('dora'));

    await input.choose(page, 'link', 'New app');
    await input.type(page, 'Name', 'Nightly import');
    await input.type(page, 'Redirect URIs', 'not an address');
    await input.choose(page, 'radio', 'Client credentials');
    t.false(await page.getByLabel('Redirect URIs').isVisible());
    await input.choose(page, 'button', 'Create app');
    await page.getByRole('heading', { name: 'Nightly import is created' }).waitFor();

    const secret = await page.getByRole('textbox', { name: 'Client secret' }).inputValue();
    const id = await page.getByRole('textbox', { name: 'Client ID' }).inputValue();
    await input.copySecret(page);
    await input.choose(page, 'link', 'Give it permissions');
    await input.choose(page, 'checkbox', 'View schools');
    await input.choose(page, 'button', 'Save');
    await page.getByText('Saved.').waitFor();
    t.is(await pasted(page, platform), secret);

    const request = { grant_type: 'client_credentials', client_id: id };
    const { body } = await platform.token({ ...request, client_secret: secret });
    t.is((await platform.api('/schools', body.access_token)).status, 200);
    await platform.token({ ...request, client_secret: `${secret}x` });

    await input.choose(page, 'link', 'Nightly import');
    await input.choose(page, 'link', 'Activity');
    await page.getByText('Token issued').waitFor();
    t.true(await page.getByText('Token request refused').isVisible());
    t.true(await page.getByText('invalid_client').isVisible());
    t.deepEqual(page.consoleMessages, []);
  });
}

test('a second click on "Add a secret" while the first is processed adds one secret and shows it', async (t) => {
  const { storage, pause } = pausable(memoryStorage());
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

  // A reload sends the form again.
  await page.reload();
  await page.getByText('This form was sent before').waitFor();
  t.is((await platform.auth.clients.secrets(client.id)).length, 2);
  t.deepEqual(page.consoleMessages, []);
});

test('a button copies the lines of a first call as they are, with the Clipboard API and without it', async (t) => {
  await using platform = await startDeveloperPlatform();
  const { client } = await platform.registerFor('dora');
  await using page = await openTab();
  await page.goto(platform.url(`/developer/apps/${client.id}`).href);
  await signIn(page, mouse, passwordOf('dora'));
  for (const [step, api] of [
    ['Get a token.', 'navigator.clipboard'],
    ['Call the API: it says who the token speaks for.', 'undefined'],
  ] as const) {
    await page.goto(platform.url(`/developer/apps/${client.id}`).href);
    await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: ${api} })`);
    const lines = await page
      .getByRole('listitem')
      .filter({ hasText: step })
      .locator('pre')
      .first()
      .innerText();
    t.true(lines.includes('\n'));
    await page.getByRole('button', { name: `Copy ${step}` }).click();
    await page.getByText('Copied').waitFor();
    await page.goto(platform.url('/developer/apps/new').href);
    const field = page.getByLabel('Redirect URIs');
    await field.focus();
    await page.keyboard.press('Control+v');
    t.is(await field.inputValue(), lines);
  }
  t.deepEqual(page.consoleMessages, []);
});
