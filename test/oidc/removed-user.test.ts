import { StorageError } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { answer, beginOn, enter, errorOf, poll, registerDevice } from '../devices/device.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, people, runCodeFlow, signIn } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';
import { platformOn } from './on-databases.ts';

const GUS = { id: 'gus', name: 'Gus', email: 'gus@school.example', password: 'p', permissions: [] };

/** Who gets the id of Gus afterwards. */
const ZOE = { ...GUS, name: 'Zoe', email: 'zoe@school.example', password: 'q' };

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** What may meet a user who was removed. Each resolves to what the caller sees. */
const MEETINGS: Readonly<
  Record<
    string,
    (platform: Platform, app: RegisteredApp, held: { browser: Browser; tokens: Tokens }) => Promise<unknown>
  >
> = {
  async 'the guard'(platform, _app, { tokens }) {
    const { body, status } = await platform.api('/schools', tokens.access_token);
    return `${status} ${String(body['code'])}`;
  },
  async 'a refresh'(platform, app, { tokens }) {
    const { body, status } = await refresh(platform, app, tokens);
    return `${status} ${body.error}`;
  },
  async 'an introspection'(platform, app, { tokens }) {
    const { client, secret } = app;
    const parameters = { client_id: client.id, client_secret: secret, token: tokens.access_token };
    return (await postForm(platform.url('/oauth/introspect'), parameters)).text;
  },
  async 'an authorization request'(platform, app, { browser }) {
    return (await browser.open(authorizeUrl(platform, app))).heading;
  },
  async 'a page of the account'(platform, _app, { browser }) {
    return (await browser.open(platform.url('/account/apps'))).heading;
  },
};

const SEEN: Readonly<Record<keyof typeof MEETINGS, string>> = {
  'the guard': '401 token_holder_gone',
  'a refresh': '400 invalid_grant',
  'an introspection': '{"active":false}',
  'an authorization request': 'Sign in',
  'a page of the account': 'Sign in',
};

async function refresh(platform: Platform, app: RegisteredApp, { refresh_token }: Tokens) {
  return exchangeRefreshToken(platform, app, refresh_token);
}

for (const [meeting, meet] of Object.entries(MEETINGS)) {
  onEachDatabase(`${meeting} ends a user who was removed, once`, async (t, _, address) => {
    const users = people();
    users.all.push(GUS);
    const here = await platformOn(t, address, { users });
    const there = await platformOn(t, address, { users });
    const app = await here.registerApp();
    const browser = new Browser();
    await signIn(browser, await browser.open(authorizeUrl(here, app)), GUS.email, GUS.password);
    const { body: tokens } = await runCodeFlow(here, app, { browser });

    users.all.splice(users.all.indexOf(GUS), 1);
    const held = { browser, tokens };
    for (let time = 0; time < 3; time += 1) t.is(await meet(here, app, held), SEEN[meeting]);
    const ends = (await here.auth.audit.list({ userId: GUS.id })).filter(
      ({ type }) => type === 'tokens_revoked',
    );
    t.is(ends.length, 1, 'later meetings find nothing to end');

    users.all.push(ZOE);
    for (const node of [here, there]) {
      t.is((await node.api('/identity', tokens.access_token)).status, 401);
      t.is((await refresh(node, app, tokens)).status, 400);
    }
    t.is((await browser.open(authorizeUrl(here, app))).heading, 'Sign in');
    const other = new Browser();
    const login = await other.open(authorizeUrl(here, app));
    const consent = await signIn(other, login, ZOE.email, ZOE.password);
    t.is(consent.heading, 'Authorize Reports', 'the consent was of somebody else');
    const { body } = await runCodeFlow(here, app, { browser: other });
    t.is((await here.api('/identity', body.access_token)).status, 200, 'the next person is not ended');
  });
}

/** What was given to a user but not used before the removal. Each uses it, and resolves to what the caller sees. */
const UNUSED: Readonly<
  Record<string, (platform: Platform, browser: Browser) => Promise<() => Promise<unknown>>>
> = {
  async 'a code'(platform, browser) {
    const app = await platform.registerApp();
    const code = (await authorize(platform, app, { browser })).get('code');
    return async () => {
      const { body, status } = await exchangeCode(platform, app, code);
      return `${status} ${body.error}`;
    };
  },
  async 'the code of a device'(platform, browser) {
    const app = await registerDevice(platform);
    const { device_code: code, user_code: userCode } = await beginOn(platform, app);
    await answer(platform, browser, userCode);
    return async () => errorOf(await poll(platform, app, code)).join(' ');
  },
  async 'an open consent page'(platform, browser) {
    const page = await browser.open(authorizeUrl(platform, await platform.registerApp({ name: 'Other' })));
    return async () => (await browser.follow(await browser.submit(page, 'Authorize'))).heading;
  },
  async 'the form of a device'(platform, browser) {
    const { user_code: userCode } = await beginOn(platform, await registerDevice(platform));
    const page = await enter(platform, browser, userCode);
    return async () => (await browser.submit(page, 'Connect')).heading;
  },
};

const REFUSED: Readonly<Record<keyof typeof UNUSED, string>> = {
  'a code': '400 invalid_grant',
  'the code of a device': '400 invalid_grant',
  'an open consent page': 'Sign in',
  'the form of a device': 'This sign-in is no longer open',
};

for (const [what, prepare] of Object.entries(UNUSED)) {
  onEachDatabase(
    `${what} of a user who was removed ends the user, and is of no use to the next`,
    async (t, _, address) => {
      const users = people();
      users.all.push(GUS);
      const given = { users, clients: { devices: true }, limits: { attempts: false } } as const;
      const here = await platformOn(t, address, given);
      const app = await here.registerApp();
      const browser = new Browser();
      await signIn(browser, await browser.open(here.url('/oauth/login')), GUS.email, GUS.password);
      const { body: tokens } = await runCodeFlow(here, app, { browser });
      const use = await prepare(here, browser);

      users.all.splice(users.all.indexOf(GUS), 1);
      t.is(await use(), REFUSED[what]);
      const ends = (await here.auth.audit.list({ userId: GUS.id })).filter(
        ({ type }) => type === 'tokens_revoked',
      );
      t.is(ends.length, 1);
      users.all.push(ZOE);
      t.notRegex(String(await use()), /^200|connected/);
      t.is((await here.api('/identity', tokens.access_token)).status, 401);
      t.is((await refresh(here, app, tokens)).status, 400);
      t.is((await browser.open(authorizeUrl(here, app))).heading, 'Sign in');
      const next = new Browser();
      await signIn(next, await next.open(here.url('/oauth/login')), ZOE.email, ZOE.password);
      t.notRegex((await next.open(here.url('/account/apps'))).text, /Reports|Other|School CLI/);
    },
  );
}

onEachDatabase('an end that fails half-way is completed by the next meeting', async (t, _, address) => {
  const users = people();
  users.all.push(GUS);
  let isBroken = false;
  const storage = around(knexStorage(address), async (name, call) => {
    if (isBroken && name === 'consents.delete') throw new StorageError('the database went away');
    return call();
  });
  const platform = await platformOn(t, address, { users, storage });
  const app = await platform.registerApp();
  const browser = new Browser();
  await signIn(browser, await browser.open(authorizeUrl(platform, app)), GUS.email, GUS.password);
  const { body: tokens } = await runCodeFlow(platform, app, { browser });

  users.all.splice(users.all.indexOf(GUS), 1);
  isBroken = true;
  t.is((await platform.api('/identity', tokens.access_token)).status, 503);
  isBroken = false;
  t.is((await platform.api('/identity', tokens.access_token)).status, 401);
  users.all.push(ZOE);
  t.is((await platform.api('/identity', tokens.access_token)).status, 401);
  const other = new Browser();
  const consent = await signIn(other, await other.open(authorizeUrl(platform, app)), ZOE.email, ZOE.password);
  t.is(consent.heading, 'Authorize Reports', 'the consent was of somebody else');
});

onEachDatabase('a user store that fails ends nobody', async (t, _, address) => {
  const users = people();
  let isBroken = false;
  const platform = await platformOn(t, address, {
    users: {
      ...users,
      async find(id) {
        if (isBroken) throw new Error('the user table is locked');
        return users.find(id);
      },
    },
  });
  const app = await platform.registerApp();
  const { body: tokens } = await runCodeFlow(platform, app);
  isBroken = true;
  t.is((await platform.api('/identity', tokens.access_token)).status, 500);
  t.is((await refresh(platform, app, tokens)).status, 500);
  isBroken = false;
  t.is((await platform.api('/identity', tokens.access_token)).status, 200);
  t.is((await refresh(platform, app, tokens)).status, 200);
});
