import test from '../harness/test.ts';
import { Router } from 'koa-router';

import { startDeveloperPlatform } from '../developer/developers.ts';
import { authorizeUrl } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const routes = recordRoutes(stack);
  const platform = stack.use(await startDeveloperPlatform());
  /** Header fields of forms from another site, by browsers with and without Sec-Fetch-Site. */
  const CROSS_SITE: readonly Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site', origin: 'https://other.school.example' },
    { 'sec-fetch-site': 'cross-site', origin: platform.origin },
    { 'sec-fetch-site': '', origin: platform.origin },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { origin: `${platform.origin}.evil.example` },
    { origin: platform.origin.replace('http:', 'https:') },
    { referer: 'https://evil.example/' },
    { referer: `https://evil.example/?${platform.origin}` },
    { referer: '' },
  ];
  const forms = [...routes]
    .filter((route) => route.startsWith('POST '))
    .map((route) => route.slice('POST '.length));
  return { platform, CROSS_SITE, forms, routes };
});

/**
 * The routes that are registered after this call, such as `POST /oauth/login`. Routes of the API, whose router has a prefix,
 * are left out: the API accepts bearer tokens and no cookies.
 */
function recordRoutes(stack: AsyncDisposableStack): ReadonlySet<string> {
  const recorded = new Set<string>();
  const before: Router['register'] = Reflect.get(Router.prototype, 'register');
  stack.defer(() => {
    Router.prototype.register = before;
  });
  Router.prototype.register = new Proxy(before, {
    apply(register, router: Router, given: Parameters<Router['register']>) {
      const [path, methods] = given;
      if (router.opts.prefix === undefined) {
        for (const method of methods) {
          for (const one of [path].flat()) recorded.add(`${method.toUpperCase()} ${String(one)}`);
        }
      }
      return Reflect.apply(register, router, given);
    },
  });
  return recorded;
}

test('every form of the pages refuses a request from another site', async (t) => {
  const { platform, CROSS_SITE, forms } = await started();
  t.true(forms.includes('/oauth/logout') && forms.includes('/developer/apps/:id/delete'));
  t.true(forms.includes('/oauth/interaction/:uid/consent') && forms.includes('/account/apps/:id/revoke'));
  const { client } = await platform.registerFor('dora');
  const app = await platform.registerApp();
  const browser = await platform.signInAs('dora');
  const open = await browser.open(authorizeUrl(platform, app));
  const uid = open.url.pathname.split('/').at(-1)!;
  const cookie = browser.cookieField;

  for (const form of forms) {
    const path = form.replace(':uid', uid).replace(':id', client.id).replace(':secret', 'x');
    for (const headers of CROSS_SITE) {
      const answer = await fetch(platform.url(path), {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ login: 'ann@school.example', password: 'correct horse' }),
        headers: { cookie, ...headers },
      });
      const what = `${path} ${JSON.stringify(headers)}`;
      t.is(answer.status, 403, what);
      t.true((await answer.text()).includes('This form came from another site'), what);
      t.deepEqual(answer.headers.getSetCookie(), [], what);
    }
  }
  t.is((await browser.open(platform.url('/developer/apps'))).status, 200, 'the session still exists');
  t.deepEqual(await platform.auth.clients.find(client.id), client);
  t.is(
    (await browser.open(open.url)).heading,
    'Authorize Reports',
    'the authorization request is still open',
  );
});

test('routes of pages have the methods GET and POST only', async (t) => {
  const { routes } = await started();
  const methods = Array.from(routes, (route) => route.replace(/ .*/, ''));
  t.deepEqual([...new Set(methods)].toSorted(), ['GET', 'POST']);
});
