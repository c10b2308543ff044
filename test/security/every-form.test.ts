import test from 'ava';
import { Router } from 'koa-router';

import { startDeveloperPlatform } from '../developer/developers.ts';
import { authorizeUrl } from '../harness/platform.ts';

const routes = noteRoutes();
const platform = await startDeveloperPlatform();
test.after.always(() => platform[Symbol.asyncDispose]());
const forms = [...routes]
  .filter((route) => route.startsWith('POST '))
  .map((route) => route.slice('POST '.length));

/**
 * The routes that pages are given from here on, as `POST /oauth/login`. Those of the API, whose router has a prefix, are
 * left out: it takes bearer tokens and no cookie.
 */
function noteRoutes(): ReadonlySet<string> {
  const noted = new Set<string>();
  Router.prototype.register = new Proxy(Reflect.get(Router.prototype, 'register'), {
    apply(register, router: Router, given: Parameters<Router['register']>) {
      const [path, methods] = given;
      if (router.opts.prefix === undefined) {
        for (const method of methods) {
          for (const one of [path].flat()) noted.add(`${method.toUpperCase()} ${String(one)}`);
        }
      }
      return Reflect.apply(register, router, given);
    },
  });
  return noted;
}

/** What browsers send with a form of another site, from those of today to those that know no Sec-Fetch-Site. */
const FROM_ELSEWHERE: readonly Record<string, string>[] = [
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

test('every form of the pages refuses what another site sends', async (t) => {
  t.true(forms.includes('/oauth/logout') && forms.includes('/developer/apps/:id/delete'));
  t.true(forms.includes('/oauth/interaction/:uid/consent') && forms.includes('/account/apps/:id/disconnect'));
  const { client } = await platform.registerFor('dora');
  const app = await platform.registerApp();
  const browser = await platform.enter('dora');
  const open = await browser.open(authorizeUrl(platform, app));
  const uid = open.url.pathname.split('/').at(-1)!;
  const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');

  for (const form of forms) {
    const path = form.replace(':uid', uid).replace(':id', client.id).replace(':secret', 'x');
    for (const headers of FROM_ELSEWHERE) {
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
  t.is((await browser.open(platform.url('/developer/apps'))).status, 200, 'nobody was signed out');
  t.deepEqual(await platform.auth.clients.find(client.id), client);
  t.is((await browser.open(open.url)).heading, 'Authorize Reports', 'the question is still open');
});

test('pages are only asked for with GET and sent with POST', (t) => {
  const methods = Array.from(routes, (route) => route.replace(/ .*/, ''));
  t.deepEqual([...new Set(methods)].toSorted(), ['GET', 'POST']);
});
