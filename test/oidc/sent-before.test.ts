import test from '../harness/test.ts';
import { UnsecuredJWT } from 'jose';
import type { Feature } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';

type Parameters = Readonly<Record<string, string>>;

/** A feature that finds the authorization requests which a client has sent before, by an id in `request_uri` (RFC 9126 section 4). */
function sentBefore(known: ReadonlyMap<string, Parameters>): Feature {
  return {
    name: 'sentBefore',
    install: ({ options: { issuer }, requests }) => ({
      engine: {
        models: {
          PushedAuthorizationRequest: {
            async find(request, value) {
              const resumed = requests.resume(value);
              const id = resumed?.reference ?? value;
              const sent = known.get(id);
              if (!request || !sent) return undefined;
              // What a user has answered counts in the session of that user.
              const isSameSession = resumed?.session === request.session?.session.payload['uid'];
              const parameters = resumed && isSameSession ? resumed.parameters : sent;
              request.parameters = parameters;
              request.reference = id;
              const jwt = new UnsecuredJWT(parameters)
                .setIssuer(parameters['client_id']!)
                .setAudience(issuer);
              return { kind: 'PushedAuthorizationRequest', exp: Date.now(), request: jwt.encode() };
            },
            async consume() {},
          },
        },
        configuration: { features: { pushedAuthorizationRequests: { enabled: true } } },
        clientMetadata: ({ name }) => ({ require_pushed_authorization_requests: name === 'Careful' }),
      },
      pages: async () => ({ views: {}, texts: { en: ENDED, de: ENDED } }),
    }),
  };
}

const ENDED = {
  'error.invalid_request_uri.heading': 'This request has ended',
  'error.invalid_request_uri.lead': 'Begin again.',
};

const SECRET = { scope: 'schools:read', state: 'the-state', login_hint: 'ann@school.example' };

async function start(redirectUri: string) {
  const known = new Map<string, Parameters>();
  const platform = await startPlatform({ features: [sentBefore(known)] });
  const native = !redirectUri.startsWith('https:');
  const { client } = await platform.registerApp({ redirectUris: [redirectUri], confidential: false, native });
  const { parameters: challenge, verifier } = pkce();
  const parameters = {
    client_id: client.id,
    redirect_uri: redirectUri,
    response_type: 'code',
    ...challenge,
    ...SECRET,
  };
  const send = (id: string, more: Parameters = {}): URL => {
    known.set(id, { ...parameters, ...more });
    const url = platform.url('/oauth/authorize');
    url.search = String(
      new URLSearchParams({ client_id: client.id, request_uri: `urn:ietf:params:oauth:request_uri:${id}` }),
    );
    return url;
  };
  const exchange = async ({ location }: Page): Promise<unknown> =>
    platform.token({
      grant_type: 'authorization_code',
      client_id: client.id,
      code: location!.searchParams.get('code'),
      redirect_uri: redirectUri,
      code_verifier: verifier,
    });
  return { platform, send, exchange, [Symbol.asyncDispose]: async () => platform[Symbol.asyncDispose]() };
}

/** Sends a request through login and consent, and keeps each URL of this server on the way. */
async function goOn(
  browser: Browser,
  url: URL,
): Promise<{ readonly end: Page; readonly urls: readonly URL[] }> {
  const urls: URL[] = [];
  async function follow(page: Page): Promise<Page> {
    const { location } = page;
    if (!location || location.origin !== url.origin) return page;
    urls.push(location);
    return follow(await browser.get(location));
  }
  let page = await follow(await browser.get(url));
  if (page.html.includes('type="password"')) {
    const fields = { login: 'ann@school.example', password: 'correct horse' };
    page = await follow(await browser.submit(page, 'Sign in', fields));
  }
  if (page.html.includes('Authorize</button>')) page = await follow(await browser.submit(page, 'Authorize'));
  return { end: page, urls };
}

for (const [kind, redirectUri] of [
  ['a site', 'https://app.example/callback'],
  ['an installed app, whose consent is not remembered', 'com.example.app:/callback'],
] as const)
  test(`a request that was sent before goes on after the login and the consent, and no URL has its parameters: ${kind}`, async (t) => {
    await using running = await start(redirectUri);
    const { end, urls } = await goOn(new Browser(running.platform.reach), running.send('one'));
    t.truthy(end.location?.searchParams.get('code'), end.text);
    t.is(end.location!.searchParams.get('state'), SECRET.state);
    const again = urls.filter(({ pathname }) => pathname === '/oauth/authorize');
    t.is(again.length, 2);
    for (const url of urls)
      for (const value of Object.values(SECRET))
        t.false(decodeURIComponent(url.href).includes(value), url.href);
  });

test('a browser cannot change a request that was sent before, neither where it begins nor where it goes on', async (t) => {
  await using running = await start('https://app.example/callback');
  const url = running.send('one');
  url.searchParams.set('scope', 'schools:write');
  url.searchParams.set('state', 'another');
  const browser = new Browser(running.platform.reach);
  const consent = await signIn(browser, await browser.open(url));
  t.true(consent.text.includes('See your schools'), consent.text);
  const answered = await browser.submit(consent, 'Authorize');
  const next = answered.location!;
  next.searchParams.set('scope', 'schools:write');
  next.searchParams.set('state', 'another');
  const end = await browser.get(next);
  t.is(end.location?.searchParams.get('state'), SECRET.state);
  t.like(await running.exchange(end), { body: { scope: SECRET.scope } });
});

test('a login that was asked for is answered in the session of the user who has logged in only', async (t) => {
  await using running = await start('https://app.example/callback');
  const url = running.send('one', { prompt: 'login' });
  const browser = new Browser(running.platform.reach);
  const page = await browser.open(url);
  const answered = await browser.submit(page, 'Sign in', {
    login: 'ann@school.example',
    password: 'correct horse',
  });
  t.true((await browser.follow(answered)).html.includes('Authorize</button>'));
  const stranger = new Browser(running.platform.reach);
  await signIn(stranger, await stranger.open(running.platform.url('/oauth/login')));
  const asked = await stranger.follow(await stranger.get(answered.location!));
  t.true(asked.html.includes('type="password"'), asked.text);
});

test('the page of a request is no reference by which it goes on', async (t) => {
  await using running = await start('https://app.example/callback');
  const url = running.send('one');
  const browser = new Browser(running.platform.reach);
  const page = await browser.open(url);
  const uid = page.url.pathname.split('/').at(-1)!;
  url.searchParams.set('request_uri', `urn:ietf:params:oauth:request_uri:${uid}`);
  const refused = await browser.get(url);
  t.is(refused.status, 400);
  t.true(refused.text.includes('invalid_request_uri'), refused.text);
  t.is(refused.heading, ENDED['error.invalid_request_uri.heading'], 'a text of the feature');
});

test('what a feature tells the engine of a client counts for this client, and follows its changes', async (t) => {
  await using platform = await startPlatform({ features: [sentBefore(new Map())] });
  const app = await platform.registerApp();
  const careful = await platform.registerApp({ name: 'Careful' });
  const begin = async (from: typeof app): Promise<Page> =>
    new Browser(platform.reach).open(authorizeUrl(platform, from));
  t.is((await begin(app)).heading, 'Sign in');
  const refused = await begin(careful);
  t.is(refused.status, 400);
  t.true(refused.text.includes('Pushed Authorization Request must be used'), refused.text);
  await platform.auth.clients.update(careful.client.id, { name: 'Careless' });
  t.is((await begin(careful)).heading, 'Sign in');
});
