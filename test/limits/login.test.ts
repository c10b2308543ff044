import { setTimeout as wait } from 'node:timers/promises';

import test from '../harness/test.ts';
import type { AuthServerOptions } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages as bundledPages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { passTime, stopClock } from '../harness/clock.ts';
import { authorizeUrl, people, signIn, startPlatform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { ANN, BOB, startLimited, tally, times } from './platform.ts';

const WRONG = { ...ANN, password: 'a-wrong-one' };

/** Five attempts that are checked, and one that is not. */
const FIVE = [422, 422, 422, 422, 422, 429];

/** Pages that do not handle the error of too many attempts. */
const unaware: AuthServerOptions['interactions'] = (flow) => ({
  ...bundledPages()(flow),
  async middleware(ctx, next) {
    if (ctx.path !== '/oauth/login') return next();
    ctx.body = { user: await flow.verifyPassword(ctx, ANN.login, 'wrong') };
    return undefined;
  },
});

/** One of many accounts, with a common password (password spraying). */
function spray(index: number): { login: string; password: string } {
  return { login: `user${index}@school.example`, password: '123456' };
}

// Tests that set the clock ahead: the tests below them start afterwards.
test.serial('when the window ends, which is an option, attempts are possible again', async (t) => {
  await using server = await startLimited({
    limits: { attempts: { login: { perAccountAndAddress: 1, window: '5 minutes' } } },
  });
  await server.signIn(WRONG);
  passTime(241);
  const page = await server.signIn();
  t.is(page.status, 429);
  t.true(Number(page.headers.get('retry-after')) <= 59);
  passTime(59);
  t.is((await server.signIn()).status, 303);
  t.deepEqual(await times(2, async () => server.signIn(WRONG)), [422, 429]);
});

test.serial('refused attempts cause no calls of the storage', async (t) => {
  // They are refused from memory for ten seconds, and thirty logins may take longer on a busy machine.
  using _stopped = stopClock();
  await using server = await startLimited();
  await times(6, async () => server.signIn(WRONG));
  server.counted.length = 0;
  const pages = await Promise.all(Array.from({ length: 30 }, async () => server.signIn(WRONG)));
  t.deepEqual(tally(pages), { 429: 30 });
  t.deepEqual(server.counted, []);
});

test('after five wrong passwords the next is not checked, and the page says when to try again', async (t) => {
  using _stopped = stopClock();
  await using server = await startLimited();
  t.deepEqual(await times(6, async () => server.signIn(WRONG)), FIVE);
  for (const person of [WRONG, ANN]) {
    const page = await server.signIn(person);
    t.is(page.status, 429);
    t.is(page.headers.get('retry-after'), '900');
    t.true(page.text.includes('Too many attempts to sign in. Try again in 15 minutes.'));
    t.regex(page.text, /<input id="login"[^>]* value="ann@school\.example"/);
    t.false(page.text.includes(person.password));
    t.is(page.headers.get('cache-control'), 'no-store');
  }
  t.is(server.asked.length, 5);
  // Once, however often it is repeated, and without the login.
  const [record, ...more] = await server.platform.auth.audit.list({ types: ['login_throttled'] });
  const { address, at: _at, id: _id, requestId, type, ...rest } = record!;
  t.deepEqual({ address, type, rest }, { address: '192.0.2.1', type: 'login_throttled', rest: {} });
  t.truthy(requestId);
  t.is(more.length, 0);
  t.false(server.platform.logger.lines.some(({ level }) => level === 'error'));
});

test('the login step of an authorization has the same limit and shares its count', async (t) => {
  await using server = await startLimited();
  const browser = new Browser();
  const { platform } = server;
  const page = await browser.open(authorizeUrl(platform, await platform.registerApp()));
  for (let count = 0; count < 4; count += 1)
    t.is((await signIn(browser, page, ANN.login, 'wrong')).status, 422);
  // The browser does not use the proxy.
  t.is((await server.signIn(WRONG, '127.0.0.1')).status, 422);
  const refused = await signIn(browser, page, ANN.login, ANN.password);
  t.deepEqual([refused.status, refused.heading], [429, 'Sign in']);
  t.true(refused.text.includes('Too many attempts to sign in.'));
  t.is(server.asked.length, 5);
});

test('of fifty concurrent wrong passwords on two nodes five are checked', async (t) => {
  const storage = memoryStorage();
  await using here = await startLimited({ storage });
  await using there = await startLimited({ storage });
  const pages = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => (index % 2 === 0 ? here : there).signIn(WRONG)),
  );
  t.deepEqual(tally(pages), { 422: 5, 429: 45 });
  t.is(here.asked.length + there.asked.length, 5);
  t.is((await there.signIn()).status, 429);
});

test('fifty concurrent right passwords all succeed', async (t) => {
  const users = people();
  let inProgress = 0;
  const verifyPassword: typeof users.verifyPassword = async (login, password) => {
    inProgress += 1;
    // Long enough for all of them to arrive meanwhile.
    await wait(100);
    t.true(inProgress <= 8);
    inProgress -= 1;
    return users.verifyPassword(login, password);
  };
  await using server = await startLimited({
    users: { ...users, verifyPassword },
    limits: { attempts: { login: { perAddress: 8 } } },
  });
  const pages = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => server.signIn(index % 2 === 0 ? ANN : BOB)),
  );
  t.deepEqual(tally(pages), { 303: 50 });
  t.deepEqual(await times(6, async () => server.signIn(WRONG)), FIVE);
});

test('with a right password among concurrent wrong ones, at most five wrong ones in a row are checked', async (t) => {
  await using server = await startLimited();
  const pages = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => server.signIn(index === 3 ? ANN : WRONG)),
  );
  t.is(tally(pages)[303], 1);
  t.true(server.asked.length <= 10, String(server.asked.length));
});

test('failures from one address do not block the account at another address, and twenty in all do', async (t) => {
  await using server = await startLimited();
  // Those that are refused for the address do not count for the account.
  await times(30, async () => server.signIn(WRONG, '198.51.100.7'));
  t.is((await server.signIn(ANN, '198.51.100.7')).status, 429);
  t.is((await server.signIn(BOB, '198.51.100.7')).status, 303, 'nor other accounts at the same address');
  t.is((await server.signIn(ANN, '192.0.2.1')).status, 303);
  const statuses = await times(20, async (index) => server.signIn(WRONG, `198.51.${index + 101}.7`));
  t.deepEqual(
    statuses,
    statuses.map((_, index) => (index < 15 ? 422 : 429)),
  );
  t.is((await server.signIn(BOB, '198.51.101.7')).status, 303);
});

test('an address that tries many accounts is blocked, also with a login to one of its own', async (t) => {
  await using server = await startLimited({ limits: { attempts: { login: { perAddress: 6 } } } });
  t.deepEqual(await times(3, async (index) => server.signIn(spray(index))), [422, 422, 422]);
  t.is((await server.signIn(BOB)).status, 303);
  t.deepEqual(await times(4, async (index) => server.signIn(spray(index + 3))), [422, 422, 422, 429]);
  t.is((await server.signIn(spray(13), '198.51.100.7')).status, 422);
});

test('the right password resets the count of the account', async (t) => {
  await using server = await startLimited();
  for (let round = 0; round < 3; round += 1) {
    t.deepEqual(await times(4, async () => server.signIn(WRONG)), [422, 422, 422, 422]);
    t.is((await server.signIn()).status, 303);
  }
});

test('spellings of a login that a database may treat as equal share one count', async (t) => {
  await using server = await startLimited();
  const [name, host] = ['ann', '@school.example'];
  const spellings = [
    `Ann${host}`,
    `ＡＮＮ${host}`,
    `ánn${host}`,
    `a\u00adnn${host}`,
    name + host,
    name + host,
  ];
  const attempt = async (index: number) => server.signIn({ ...WRONG, login: spellings[index]! });
  t.deepEqual(await times(6, attempt), FIVE);
});

test('without trustProxy X-Forwarded-For is ignored, with one warning in the log', async (t) => {
  await using server = await startLimited({}, false);
  t.deepEqual(await times(6, async (index) => server.signIn(WRONG, `198.51.100.${index}`)), FIVE);
  const lines = server.platform.logger.lines.filter(({ message }) => message.includes('set trustProxy'));
  t.deepEqual(
    lines.map(({ level, fields }) => ({ level, fields })),
    [{ level: 'warn', fields: { address: '127.0.0.1' } }],
  );
});

test('ports in X-Forwarded-For are ignored, in the count and in the audit record', async (t) => {
  await using server = await startLimited();
  const ports = ['', ':80', ':4711', ':65535'];
  const onIPv4 = async (index: number) => server.signIn(WRONG, `192.0.2.9${ports[index % 4]}`);
  t.deepEqual(await times(6, onIPv4), FIVE);
  // The addresses of one /64 count together.
  const bob = { ...BOB, password: 'x' };
  const onIPv6 = async (index: number) => server.signIn(bob, `[2001:db8::${index}]:${index + 1}`);
  t.deepEqual(await times(6, onIPv6), FIVE);
  t.is((await server.signIn(ANN, '192.0.2.10:4711')).status, 303);
  const records = await server.platform.auth.audit.list({ types: ['login_throttled'] });
  t.deepEqual(new Set(records.map(({ address }) => address)), new Set(['2001:db8::5', '192.0.2.9']));
});

test('an app that trusts more addresses of X-Forwarded-For than its proxy wrote logs one warning', async (t) => {
  for (const [count, header, lines] of [
    [0, '198.51.100.1, 192.0.2.1', 1],
    [0, '192.0.2.1', 0],
    [1, '198.51.100.1, 192.0.2.1', 0],
  ] as const) {
    await using server = await startLimited({}, true, count);
    await times(3, async () => server.signIn(WRONG, header));
    const messages = server.platform.logger.lines.map(({ message }) => message);
    t.is(messages.filter((message) => message.includes('which the caller can forge')).length, lines, header);
  }
});

test('with auth.callback() only the last address of X-Forwarded-For is used', async (t) => {
  await using platform = await startPlatform({ trustProxy: true }, { app: ({ auth }) => auth.callback() });
  const from = async (forwarded: string) =>
    postForm(platform.url('/oauth/login'), WRONG, { 'x-forwarded-for': forwarded });
  t.deepEqual(await times(6, async (index) => from(`198.51.100.${index}, 192.0.2.1`)), FIVE);
  t.is((await from('198.51.100.1, 192.0.2.2')).status, 422);
});

test('while the storage is unreachable no password is checked; a right one succeeds when its count is not reset', async (t) => {
  await using server = await startLimited();
  server.broken.add('attempts.count');
  const page = await server.signIn();
  t.is(page.status, 503);
  t.truthy(page.headers.get('retry-after'));
  t.deepEqual(server.asked, []);
  server.broken.clear();
  t.is((await server.signIn()).status, 303);
  server.broken.add('attempts.release');
  t.is((await server.signIn()).status, 303);
  t.true(server.platform.logger.lines.some(({ message }) => message.includes('attempt count not restored')));
});

test('an error of the user store does not count as an attempt', async (t) => {
  const users = people();
  let isBroken = true;
  const verifyPassword: typeof users.verifyPassword = async (login, password) => {
    if (isBroken) throw new Error('the directory is unreachable');
    return users.verifyPassword(login, password);
  };
  await using server = await startLimited({ users: { ...users, verifyPassword } });
  t.deepEqual(new Set(await times(8, async () => server.signIn(WRONG))), new Set([500]));
  isBroken = false;
  t.deepEqual(await times(6, async () => server.signIn(WRONG)), FIVE);
});

test('custom pages that do not handle too many attempts show an error page with 429', async (t) => {
  await using server = await startLimited({ interactions: unaware });
  t.deepEqual(new Set(await times(5, async () => server.signIn())), new Set([200]));
  const page = await server.signIn();
  t.is(page.status, 429);
  t.truthy(page.headers.get('retry-after'));
  t.true(page.text.includes('Too many attempts'));
  t.false(server.platform.logger.lines.some(({ level }) => level === 'error'));
});

test('limits.attempts: false and login: false switch the limits off', async (t) => {
  for (const attempts of [false, { login: false }] as const) {
    await using server = await startLimited({ limits: { attempts } });
    t.deepEqual(new Set(await times(25, async () => server.signIn(WRONG))), new Set([422]));
    t.deepEqual(server.counted, []);
  }
});
