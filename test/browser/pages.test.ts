import { join } from 'node:path';

import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

import { passwordOf, startDeveloperPlatform } from '../apps/developers.ts';
import type { DeveloperPlatform } from '../apps/developers.ts';
import { connect } from '../harness/platform.ts';
import { chromiumTest, openTab } from './chromium.ts';

/** Where to put pictures of the pages, to look at; none are taken unless it is given. */
const SCREENSHOTS = process.env['SCREENSHOTS'];
const EVERYTHING = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] };
/** What differs from one look to the next: the rest is in the HTML, which is the same. */
const LOOK = { type: 'rule', values: ['color-contrast', 'target-size'] };
const LOOKS = [
  { name: 'light-1280', colorScheme: 'light', width: 1280 },
  { name: 'dark-1280', colorScheme: 'dark', width: 1280 },
  { name: 'light-320', colorScheme: 'light', width: 320 },
  { name: 'dark-320', colorScheme: 'dark', width: 320 },
] as const;

const test = chromiumTest();

/** How to come to a page: its address, and what to do there. */
type Way = (page: Page, open: (path: string) => Promise<void>) => Promise<void>;

function at(path: string): Way {
  return async (_page, open) => open(path);
}

/** Every page of people who are signed in, with something on it. */
async function furnish(platform: DeveloperPlatform): Promise<Readonly<Record<string, Way>>> {
  const { auth, registerFor } = platform;
  const service = await registerFor('dora', {
    roles: ['headmaster', 'reader'],
    permissions: ['edit_schools'],
  });
  const people = {
    grantType: 'authorization_code',
    redirectUris: ['https://reports.example/callback'],
  } as const;
  const reports = await registerFor('dora', { name: 'Reports', ...people });
  const device = await registerFor('dora', {
    name: `An app with a name that goes on for as long as names may ${'andon'.repeat(8)}`,
    ...people,
    confidential: false,
    native: true,
  });
  const disabled = await registerFor('dora', { name: 'Old importer' });
  await auth.clients.disable(disabled.client.id);
  await auth.clients.addSecret(service.client.id, { label: 'production, May' });
  for (const client_secret of [service.secret, 'wrong']) {
    await platform.token({ grant_type: 'client_credentials', client_id: service.client.id, client_secret });
  }
  const browser = await platform.enter('dora');
  await connect(platform, reports, { browser, parameters: { scope: 'schools:read' } });
  await connect(platform, await registerFor('dora', { name: 'Everything', ...people }), { browser });

  const [id, reportsId] = [service.client.id, reports.client.id];
  return {
    list: at('/developer/apps'),
    'list-none-found': at('/developer/apps?search=nothing'),
    new: at('/developer/apps/new'),
    async 'new-refused'(page, open) {
      await open('/developer/apps/new');
      await page.getByRole('button', { name: 'Create app' }).click();
      await page.getByText('There is a problem').waitFor();
    },
    async created(page, open) {
      await open('/developer/apps/new');
      await page.getByLabel('Name', { exact: true }).fill('Weekly report');
      await page.getByLabel('Redirect URIs').fill('https://weekly.example/callback');
      await page.getByRole('button', { name: 'Create app' }).click();
      await page.getByRole('button', { name: 'Copy Client secret' }).click();
      await page.getByText('Copied').waitFor();
    },
    'settings-service': at(`/developer/apps/${id}?done=saved`),
    'settings-people': at(`/developer/apps/${reportsId}`),
    'settings-device': at(`/developer/apps/${device.client.id}`),
    'settings-disabled': at(`/developer/apps/${disabled.client.id}`),
    permissions: at(`/developer/apps/${id}/permissions`),
    scopes: at(`/developer/apps/${reportsId}/permissions`),
    secrets: at(`/developer/apps/${id}/secrets`),
    activity: at(`/developer/apps/${id}/activity`),
    disable: at(`/developer/apps/${id}/disable`),
    'not-found': at('/developer/apps/nothing'),
    connections: at('/account/apps?done=disconnected'),
    disconnect: at(`/account/apps/${reportsId}/disconnect`),
    logout: at('/oauth/logout'),
  };
}

test('every page is accessible and fits, light and dark, on a desk and on a phone', async (t) => {
  t.timeout(120_000);
  await using platform = await startDeveloperPlatform();
  const ways = await furnish(platform);
  // axe is a script that no page of ours would let run.
  await using page = await openTab({ bypassCSP: true, reducedMotion: 'reduce' });

  const check = async (what: string): Promise<void> => {
    await page.addScriptTag({ content: axe.source });
    for (const { name, colorScheme, width } of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const runOnly = JSON.stringify(name === LOOKS[0].name ? EVERYTHING : LOOK);
      const { violations } = await page.evaluate<AxeResults>(`axe.run({ runOnly: ${runOnly} })`);
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
      t.deepEqual(found, [], `${what} ${name}`);
      const taken = await page.evaluate<number>('document.documentElement.scrollWidth');
      t.true(taken <= width, `${what} ${name} is ${taken} pixels wide`);
      if (SCREENSHOTS)
        await page.screenshot({ path: join(SCREENSHOTS, `${what}-${name}.png`), fullPage: true });
    }
  };
  const open = async (path: string): Promise<void> => {
    await page.goto(platform.url(path).href);
  };

  await open('/developer/apps');
  await check('sign-in');
  const { email, password } = passwordOf('dora');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Your apps' }).waitFor();
  for (const [what, go] of Object.entries(ways)) {
    await go(page, open);
    await check(what);
  }
  t.deepEqual(
    page.complaints.filter((line) => !/status of (404|422)/.test(line)),
    [],
  );
});
