import type { Page } from 'playwright-core';

import { chromiumTest, openTab } from '../browser/chromium.ts';
import { serve } from '../../harness/serve.ts';
import { shared } from '../../harness/shared.ts';
import { serveExample } from '../../examples/served-example.ts';
import { violationsOf } from '../../examples/violations.ts';

const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { base_url: baseUrl, users } = example.announced;
  return { baseUrl, users };
});

const browserTest = chromiumTest();

browserTest('a user signs in and renames a school, without a token', async (t) => {
  await using page = await openTab();
  const requests: Record<string, string>[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/')) requests.push(request.headers());
  });
  await signIn(page, 'ada@platform.example');
  await page.getByLabel('Name of Harbour School').fill('Lighthouse School');
  await page.getByRole('button', { name: 'Rename Harbour School' }).click();
  await page.getByText('The school is called Lighthouse School now.').waitFor();
  t.deepEqual(await violationsOf(page, 'schools-page'), []);

  await page.reload();
  t.is(await page.getByLabel('Name of Lighthouse School').inputValue(), 'Lighthouse School');
  t.true(requests.length >= 4);
  t.false(requests.some((headers) => 'authorization' in headers));
});

browserTest(
  'a user without the permission reads why, and after the logout nobody is signed in',
  async (t) => {
    const { baseUrl } = await started();
    await using page = await openTab();
    await signIn(page, 'ruth@platform.example');
    const rename = page.getByRole('button', { name: /^Rename/ }).first();
    await rename.click();
    await page.getByText('Missing permission to edit schools.').waitFor();

    const other = await page.context().newPage();
    await other.goto(`${baseUrl}/oauth/logout`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other
      .getByText(/signed out/i)
      .first()
      .waitFor();
    await rename.click();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    t.deepEqual(await violationsOf(page, 'schools-page-signed-out'), []);
  },
);

browserTest('pages of other origins change nothing with the cookies of the user', async (t) => {
  const { baseUrl } = await started();
  await using page = await openTab();
  await signIn(page, 'ada@platform.example');
  const school = await page.getByRole('textbox').nth(1).inputValue();
  const { id } = await page.evaluate<{ id: string }>(
    `fetch('/api/v1/schools').then(async (answer) => (await answer.json()).data.find(({ name }) => name === ${JSON.stringify(school)}))`,
  );
  const action = `${baseUrl}/api/v1/actions/school/${id}/rename-school-action`;
  await using evil = await serve(() => (_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<form method="post" enctype="text/plain" action="${action}">
      <input name='{"name":"Evil","x":"' value='"}'><button>Win a prize</button></form>`);
  });

  // Another port of the host is same-site, as a sibling subdomain is: its requests have the cookies. Those of another host have none.
  for (const [host, status] of [
    ['localhost', 403],
    ['127.0.0.1', 401],
  ] as const) {
    await page.goto(`http://${host}:${new URL(evil.origin).port}`);
    const fetched = page.waitForResponse(action);
    await page.evaluate(
      `fetch('${action}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"name":"Evil"}' })`,
    );
    t.is((await fetched).status(), status, host);
    const posted = page.waitForResponse(action);
    await page.getByRole('button').click();
    t.is((await posted).status(), status, `${host}, a form`);
  }
  await page.goto(`${baseUrl}/schools`);
  await page.getByLabel(`Name of ${school}`).waitFor();
});

/** Opens the page of the schools, and signs in there. */
async function signIn(page: Page, login: string): Promise<void> {
  const { baseUrl, users } = await started();
  await page.goto(`${baseUrl}/schools`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  const field = page.getByLabel(/email|login/i);
  await field.fill(login);
  await page.getByLabel('Password').fill(users.find((user) => user.login === login)!.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('textbox').first().waitFor();
}
