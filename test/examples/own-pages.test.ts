import test from 'ava';

import { createSchool } from '../../examples/own-pages.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { listenerOf } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { serve } from '../harness/serve.ts';

let auth!: Awaited<ReturnType<typeof createSchool>>['auth'];
const school = await serve(async (origin) => {
  const made = await createSchool(origin);
  ({ auth } = made);
  made.app.silent = true;
  return listenerOf(made.app);
});
test.after.always(() => school[Symbol.asyncDispose]());

const REDIRECT_URI = 'https://reports.example/callback';

async function begin(
  name = 'Reports',
  scope = 'schools:read',
): Promise<{ browser: Browser; page: Page; client: Record<string, string> }> {
  const { client, secret } = await auth.clients.create({
    name,
    grantType: 'authorization_code',
    redirectUris: [REDIRECT_URI],
  });
  const url = new URL('/oauth/authorize', school.origin);
  url.search = new URLSearchParams({
    client_id: client.id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope,
    state: 'x',
  }).toString();
  const browser = new Browser();
  return {
    browser,
    page: await browser.open(url),
    client: { client_id: client.id, client_secret: secret!.value },
  };
}

const ANN = { login: 'ann@school.example', password: 'correct horse' };

test('users sign in and authorize on the app’s own pages', async (t) => {
  const { browser, client, page } = await begin();
  t.is(page.heading, 'Sign in');
  const again = await browser.submit(page, 'Sign in', { ...ANN, password: 'wrong' });
  t.is(again.status, 422);
  t.true(again.text.includes('Email or password is incorrect.'));

  const consent = await browser.follow(await browser.submit(again, 'Sign in', ANN));
  t.is(consent.heading, 'Reports asks for access');
  t.true(consent.text.includes('See your schools'));
  const { location } = await browser.follow(await browser.submit(consent, 'Allow'));
  t.is(location?.searchParams.get('state'), 'x');
  const answer = await postJson(`${school.origin}/oauth/token`, {
    grant_type: 'authorization_code',
    ...client,
    redirect_uri: REDIRECT_URI,
    code: location?.searchParams.get('code'),
  });
  t.is(answer.status, 200, answer.text);
});

test('a scope that the user unchecks is not granted', async (t) => {
  const granted: unknown[] = [];
  for (const form of ['scope=profile', '']) {
    const { browser, client, page } = await begin('Reports', 'schools:read profile');
    const consent = await browser.follow(await browser.submit(page, 'Sign in', ANN));
    t.regex(consent.html, /<input type="checkbox" name="scope" value="profile" checked> See your name/);
    const answer = await browser.post(consent.actionOf('Allow'), new URLSearchParams(form));
    const { location } = await browser.follow(answer);
    const { body } = await postJson(`${school.origin}/oauth/token`, {
      grant_type: 'authorization_code',
      ...client,
      redirect_uri: REDIRECT_URI,
      code: location?.searchParams.get('code'),
    });
    granted.push((body as { scope?: string }).scope);
  }
  t.deepEqual(granted, ['schools:read profile', 'schools:read']);
});

test('the cancel button returns access_denied to the client', async (t) => {
  const { browser, page } = await begin();
  const consent = await browser.follow(await browser.submit(page, 'Sign in', ANN));
  const { location } = await browser.follow(await browser.submit(consent, 'Cancel'));
  t.is(location?.searchParams.get('error'), 'access_denied');
});

test('the name of a client is escaped, and forms of other sites are refused', async (t) => {
  const { browser, page } = await begin('<img src=x onerror=alert(1)>');
  t.false(page.html.includes('<img'));
  t.true(page.html.includes('&#60;img src=x onerror=alert(1)&#62;'));
  t.regex(page.response.headers.get('content-security-policy')!, /frame-ancestors 'none'/);

  const foreign = await browser.post(page.actionOf('Sign in'), new URLSearchParams(ANN), {
    origin: 'https://evil.example',
  });
  t.is(foreign.status, 403);
});

test('errors have a page, also for an unknown interaction', async (t) => {
  const wrong = await new Browser().get(
    `${school.origin}/oauth/authorize?client_id=unknown&response_type=code`,
  );
  t.is(wrong.status, 400);
  t.is(wrong.heading, 'That did not work');
  const { page } = await begin();
  const forged = page.url.href.replace(/.{6}$/, 'forged');
  t.not(forged, page.url.href);
  for (const url of [`${school.origin}/oauth/interaction/unknown`, forged]) {
    const unknown = await new Browser().get(url);
    t.is(unknown.status, 400, url);
    t.is(unknown.heading, 'That did not work');
  }
});
