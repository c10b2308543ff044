// The options of developer(): each mistake is an error that names the option and the remedy.
import test from '../harness/test.ts';
import { createAuthServer, defineGate, developer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { startPlatform } from '../harness/platform.ts';
import { openDeveloperPlatform, requestFrom, userOf } from './developers.ts';

const PAGE =
  "give a path such as '/account/apps', outside /oauth and /.well-known and without a trailing slash, or false";

const WRONG: readonly (readonly [options: unknown, place: string, remedy: string])[] = [
  ['yes', 'developer()', 'pass an object with some of path'],
  ...[null, true, '', 'apps', '/', '/apps/', '/oauth/apps', '/.well-known/apps', '/a/../b', '/:id'].map(
    (path) => [{ path }, 'developer({ path })', PAGE] as const,
  ),
];

for (const [options, place, remedy] of WRONG) {
  test(`developer(${JSON.stringify(options)}) is refused`, (t) => {
    t.throws(() => developer(options as object), { code: 'ERR_CONFIG', message: `${place}: ${remedy}` });
  });
}

test('a gate without the permission manage_apps is refused, because no user could open the pages', async (t) => {
  const refused = createAuthServer({
    issuer: 'http://127.0.0.1',
    users: { find: async () => undefined, verifyPassword: async () => undefined },
    storage: memoryStorage(),
    gate: defineGate({ permissions: { view_schools: 'View schools' } }),
    features: [developer()],
  });
  await t.throwsAsync(refused, {
    code: 'ERR_CONFIG',
    message: 'gate: add the permission manage_apps, which users need for developer()',
  });
});

test('without the feature there are no pages, no link to them, and no member', async (t) => {
  await using platform = await startPlatform();
  t.is((await new Browser().get(platform.url('/developer/apps'))).status, 404);
  t.false('developer' in platform.auth);
});

test('the path moves the pages, and false leaves the member alone', async (t) => {
  const moved = await openDeveloperPlatform(t, { developer: { path: '/apps' } });
  const browser = await moved.signInAs('dora');
  const page = await browser.open(moved.url('/apps'));
  t.is(page.heading, 'Your apps');
  t.true(page.html.includes('<a href="/apps" aria-current="page">Your apps</a>'));
  t.true(page.html.includes('href="/apps/new"'));
  t.is((await browser.get(moved.url('/developer/apps'))).status, 404);

  const without = await openDeveloperPlatform(t, { developer: { path: false } });
  const signedIn = await without.signInAs('dora');
  t.is((await signedIn.get(without.url('/developer/apps'))).status, 404);
  t.false((await signedIn.open(without.url('/account/apps'))).html.includes('Your apps'));
  const own = await without.auth.developer(requestFrom('192.0.2.1'), userOf('dora'));
  t.deepEqual(await own.list(), []);
});
