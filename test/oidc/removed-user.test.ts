import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';

import { answer, beginOn, enter, errorOf, poll, registerDevice } from '../devices/device.ts';
import type { Browser } from '../harness/browser.ts';
import {
  authorize,
  authorizeUrl,
  people,
  runCodeFlow,
  signedIn,
  startPlatform,
} from '../harness/platform.ts';
import type { Person, RegisteredApp, TokenAnswer, Platform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { breakable } from '../harness/storage.ts';
import { asClient, exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const { broken, storage } = breakable();
let usersFail = false;
const store = people();
const users = {
  ...store,
  find: async (id: string): Promise<Person | undefined> => {
    if (usersFail) throw new Error('the user table is locked');
    return store.find(id);
  },
};
const options = { storage, users, features: [devices()], limits: { attempts: false } } as const;
const started = shared(async (stack) => {
  const here = stack.use(await startPlatform(options));
  const there = stack.use(await startPlatform({ ...options, issuer: here.origin }));
  return { here, there };
});

/** A user who is signed in and has authorized an app. */
interface Held {
  readonly person: Person;
  readonly app: RegisteredApp;
  readonly browser: Browser;
  readonly tokens: TokenAnswer['body'];
}

let count = 0;

async function hold(): Promise<Held> {
  const { here } = await started();
  count += 1;
  const email = `gus-${count}@school.example`;
  const person = { id: `gus ${count}`, name: 'Gus', email, password: 'p', permissions: [] };
  store.all.push(person);
  const app = await here.registerApp();
  const browser = await signedIn(here, email, 'p');
  const { body: tokens } = await runCodeFlow(here, app, { browser });
  return { person, app, browser, tokens };
}

function remove({ person }: Held): void {
  store.all.splice(store.all.indexOf(person), 1);
}

/** Gives the id of a removed user to somebody else. Resolves to that person's browser, which is signed in. */
async function replace({ person }: Held): Promise<Browser> {
  const { here } = await started();
  const email = `zoe-${person.email}`;
  store.all.push({ ...person, name: 'Zoe', email });
  return signedIn(here, email, 'p');
}

async function apiStatus({ tokens }: Held, node?: Platform): Promise<number> {
  const { here } = await started();
  return (await (node ?? here).api('/identity', tokens.access_token)).status;
}

async function refresh({ app, tokens }: Held, node?: Platform): Promise<TokenAnswer> {
  const { here } = await started();
  return exchangeRefreshToken(node ?? here, app, tokens.refresh_token);
}

/** What may meet a user who was removed, after what was prepared before. Each resolves to what the caller sees. */
const MEETINGS: Readonly<Record<string, readonly [seen: string, (held: Held) => Promise<() => unknown>]>> = {
  'the guard': [
    '401 token_holder_gone',
    async ({ tokens }) => {
      const { here } = await started();
      return async () => {
        const { body, status } = await here.api('/schools', tokens.access_token);
        return `${status} ${String(body['code'])}`;
      };
    },
  ],
  'a refresh': [
    '400 invalid_grant',
    async (held) => async () => {
      const { body, status } = await refresh(held);
      return `${status} ${body.error}`;
    },
  ],
  'an introspection': [
    '{"active":false}',
    async ({ app, tokens }) => {
      const { here } = await started();
      const fields = { ...asClient(app), token: tokens.access_token };
      return async () => (await postForm(here.url('/oauth/introspect'), fields)).text;
    },
  ],
  'an authorization request': [
    'Sign in',
    async ({ app, browser }) => {
      const { here } = await started();
      return async () => (await browser.open(authorizeUrl(here, app))).heading;
    },
  ],
  'a page of the account': [
    'Sign in',
    async ({ browser }) => {
      const { here } = await started();
      return async () => (await browser.open(here.url('/account/apps'))).heading;
    },
  ],
  'a code': [
    '400 invalid_grant',
    async ({ browser }) => {
      const { here } = await started();
      const app = await here.registerApp();
      const code = (await authorize(here, app, { browser })).get('code');
      return async () => {
        const { body, status } = await exchangeCode(here, app, code);
        return `${status} ${body.error}`;
      };
    },
  ],
  'the code of a device': [
    '400 invalid_grant',
    async ({ browser }) => {
      const { here } = await started();
      const app = await registerDevice(here);
      const { device_code: code, user_code: userCode } = await beginOn(here, app);
      await answer(here, browser, userCode);
      return async () => errorOf(await poll(here, app, code)).join(' ');
    },
  ],
  'an open consent page': [
    'Sign in',
    async ({ browser }) => {
      const { here } = await started();
      const page = await browser.open(authorizeUrl(here, await here.registerApp({ name: 'Other' })));
      return async () => (await browser.follow(await browser.submit(page, 'Authorize'))).heading;
    },
  ],
  'the form of a device': [
    'This sign-in is no longer open',
    async ({ browser }) => {
      const { here } = await started();
      const { user_code: userCode } = await beginOn(here, await registerDevice(here));
      const page = await enter(here, browser, userCode);
      return async () => (await browser.submit(page, 'Connect')).heading;
    },
  ],
};

for (const [meeting, [seen, prepare]] of Object.entries(MEETINGS)) {
  test(`${meeting} ends a user who was removed, once, and nothing is of use to the next`, async (t) => {
    const { here, there } = await started();
    const held = await hold();
    const meet = await prepare(held);
    remove(held);
    t.is(await meet(), seen);
    await meet();
    const ends = await here.auth.audit.list({ userId: held.person.id });
    t.is(
      ends.filter(({ type }) => type === 'tokens_revoked').length,
      1,
      'later meetings find nothing to end',
    );

    const next = await replace(held);
    t.notRegex(String(await meet()), /^200|connected/);
    for (const node of [here, there]) {
      t.is(await apiStatus(held, node), 401);
      t.is((await refresh(held, node)).status, 400);
    }
    t.is((await held.browser.open(authorizeUrl(here, held.app))).heading, 'Sign in');
    t.notRegex((await next.open(here.url('/account/apps'))).text, /Reports|Other|School CLI/);
    t.is((await next.open(authorizeUrl(here, held.app))).heading, 'Authorize Reports');
    const { body } = await runCodeFlow(here, held.app, { browser: next });
    t.is((await here.api('/identity', body.access_token)).status, 200, 'the next person is not ended');
  });
}

test.serial('an end that fails half-way is completed by the next meeting', async (t) => {
  const { here } = await started();
  const held = await hold();
  remove(held);
  broken.add('consents.delete');
  t.is(await apiStatus(held), 503);
  broken.clear();
  t.is(await apiStatus(held), 401);
  const next = await replace(held);
  t.is(await apiStatus(held), 401);
  const consent = await next.open(authorizeUrl(here, held.app));
  t.is(consent.heading, 'Authorize Reports', 'the consent was of somebody else');
});

test.serial('a user store that fails ends nobody', async (t) => {
  const held = await hold();
  usersFail = true;
  t.is(await apiStatus(held), 500);
  t.is((await refresh(held)).status, 500);
  usersFail = false;
  t.is(await apiStatus(held), 200);
  t.is((await refresh(held)).status, 200);
});
