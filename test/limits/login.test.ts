import { setTimeout as wait } from 'node:timers/promises';

import test from 'ava';
import type { AuthServerOptions } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages as bundledPages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import { passTime, stopClock } from '../harness/clock.ts';
import { authorizeUrl, people, signIn, startPlatform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { ANN, BOB, startLimited, tally, times } from './platform.ts';

const WRONG = { ...ANN, password: 'a-wrong-one' };

/** Pages that do not handle the error of too many attempts. */
const unaware: AuthServerOptions['interactions'] = (flow) => ({
  ...bundledPages()(flow),
  async middleware(ctx, next) {
    if (ctx.path !== '/oauth/login') return next();
    ctx.body = { user: await flow.authenticate(ctx, ANN.login, 'wrong') };
    return undefined;
  },
});

/** One of many accounts, with a common password (password spraying). */
function spray(index: number): { login: string; password: string } {
  return { login: `user${index}@school.example`, password: '123456' };
}

// Tests that set the clock ahead: the tests below them start afterwards.
test.serial('when the window ends, attempts are possible again', async (t) => {
  await using server = await startLimited();
  await times(5, async () => server.signIn(WRONG));
  passTime(14 * 60);
  t.is((await server.signIn()).status, 429);
  passTime(60);
  t.is((await server.signIn()).status, 303);
  t.deepEqual(await times(6, async () => server.signIn(WRONG)), [422, 422, 422, 422, 422, 429]);
});

test.serial(
  'the window is an option, and the page tells the remaining time in minutes, then in seconds',
  async (t) => {
    await using server = await startLimited({
      limits: { attempts: { login: { perAccountAndAddress: 1, window: '5 minutes' } } },
    });
    await server.signIn(WRONG);
    t.regex((await server.signIn()).text, /Try again in 5 minutes\./);
    passTime(241);
    const page = await server.signIn();
    t.regex(page.text, /Try again in \d+ seconds?\./);
    t.true(Number(page.headers.get('retry-after')) <= 59);
    passTime(59);
    t.is((await server.signIn()).status, 303);
  },
);

test.serial('refused attempts cause no calls of the storage', async (t) => {
  // They are refused from memory for ten seconds, and thirty logins may take longer on a busy machine.
  using _stopped = stopClock();
  await using server = await startLimited();
  await times(6, async () => server.signIn(WRONG));
  server.counted.length = 0;
  t.deepEqual(tally(await Promise.all(Array.from({ length: 30 }, async () => server.signIn(WRONG)))), {
    429: 30,
  });
  t.deepEqual(server.counted, []);
});

test('after five wrong passwords the next is not checked, and the page says when to try again', async (t) => {
  await using server = await startLimited();
  t.deepEqual(await times(5, async () => server.signIn(WRONG)), [422, 422, 422, 422, 422]);
  for (const person of [WRONG, ANN]) {
    const page = await server.signIn(person);
    t.is(page.status, 429);
    const seconds = Number(page.headers.get('retry-after'));
    t.true(seconds > 890 && seconds <= 900, String(seconds));
    t.true(page.text.includes('Too many attempts to sign in. Try again in 15 minutes.'));
    t.regex(page.text, /<input id="login"[^>]* value="ann@school\.example"/);
    t.false(page.text.includes(person.password));
    t.is(page.headers.get('cache-control'), 'no-store');
  }
  t.is(server.asked.length, 5);
});

test('the login step of an authorization has the same limit and shares its count', async (t) => {
  await using server = await startLimited();
  const browser = new Browser();
  const { platform } = server;
  const page = await browser.open(authorizeUrl(platform, await platform.registerApp()));
  for (let count = 0; count < 4; count += 1) {
    t.is((await signIn(browser, page, ANN.login, 'wrong')).status, 422);
  }
  // The browser does not use the proxy.
  t.is((await server.signIn(WRONG, '127.0.0.1')).status, 422);
  const refused = await signIn(browser, page, ANN.login, ANN.password);
  t.is(refused.status, 429);
  t.is(refused.heading, 'Sign in');
  t.true(refused.text.includes('Too many attempts to sign in.'));
  t.is(server.asked.length, 5);
});

test('of fifty concurrent wrong passwords five are checked', async (t) => {
  await using server = await startLimited();
  const pages = await Promise.all(Array.from({ length: 50 }, async () => server.signIn(WRONG)));
  t.deepEqual(tally(pages), { 422: 5, 429: 45 });
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
  const authenticate: typeof users.authenticate = async (login, password) => {
    inProgress += 1;
    // Long enough for all of them to arrive meanwhile.
    await wait(100);
    t.true(inProgress <= 8);
    inProgress -= 1;
    return users.authenticate(login, password);
  };
  await using server = await startLimited({
    users: { ...users, authenticate },
    limits: { attempts: { login: { perAddress: 8 } } },
  });
  const pages = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => server.signIn(index % 2 === 0 ? ANN : BOB)),
  );
  t.deepEqual(tally(pages), { 303: 50 });
  t.deepEqual(await times(6, async () => server.signIn(WRONG)), [422, 422, 422, 422, 422, 429]);
});

test('with a right password among concurrent wrong ones, at most five wrong ones in a row are checked', async (t) => {
  await using server = await startLimited();
  const pages = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => server.signIn(index === 3 ? ANN : WRONG)),
  );
  t.deepEqual(tally(pages), { 303: 1, 422: tally(pages)[422]!, 429: tally(pages)[429]! });
  t.true(server.asked.length <= 10, String(server.asked.length));
});

test('failures from one address do not block the account at another address', async (t) => {
  await using server = await startLimited();
  await times(8, async () => server.signIn(WRONG, '198.51.100.7'));
  t.is((await server.signIn(ANN, '198.51.100.7')).status, 429);
  t.is((await server.signIn(ANN, '192.0.2.1')).status, 303);
  t.is((await server.signIn(BOB, '198.51.100.7')).status, 303, 'nor other accounts at the same address');
});

test('an account has twenty attempts from all addresses together', async (t) => {
  await using server = await startLimited();
  const statuses = await times(30, async (index) => server.signIn(WRONG, `198.51.${index % 10}.7`));
  t.deepEqual(
    statuses.map((status) => status === 422),
    Array.from({ length: 30 }, (_, index) => index < 20),
  );
  t.is(server.asked.length, 20);
  t.is((await server.signIn(BOB, '198.51.1.7')).status, 303);
});

test('attempts that are refused for an address do not count for the account', async (t) => {
  await using server = await startLimited();
  await times(60, async () => server.signIn(WRONG, '198.51.100.7'));
  const statuses = await times(15, async (index) => server.signIn(WRONG, `198.51.${index + 101}.7`));
  t.deepEqual(new Set(statuses), new Set([422]));
});

test('an address that tries many accounts is blocked', async (t) => {
  await using server = await startLimited({ limits: { attempts: { login: { perAddress: 10 } } } });
  const statuses = await times(12, async (index) => server.signIn(spray(index)));
  t.deepEqual(statuses.slice(9), [422, 429, 429]);
  t.is((await server.signIn(spray(13), '198.51.100.7')).status, 422);
});

test('a successful login to one account does not reset the count of the address for others', async (t) => {
  await using server = await startLimited({ limits: { attempts: { login: { perAddress: 6 } } } });
  t.deepEqual(await times(3, async (index) => server.signIn(spray(index))), [422, 422, 422]);
  t.is((await server.signIn(BOB)).status, 303);
  t.deepEqual(await times(4, async (index) => server.signIn(spray(index + 3))), [422, 422, 422, 429]);
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
  const spellings = [
    'Ann@School.Example',
    'ＡＮＮ@school.example',
    'ánn@school.example',
    'a\u00adnn@school.example',
  ];
  t.deepEqual(
    await times(4, async (index) => server.signIn({ ...WRONG, login: spellings[index]! })),
    [422, 422, 422, 422],
  );
  t.is((await server.signIn(WRONG)).status, 422);
  t.is((await server.signIn()).status, 429);
});

test('an IPv6 address counts as its /64 network', async (t) => {
  await using server = await startLimited();
  const from = async (address: string) => (await server.signIn(WRONG, address)).status;
  t.deepEqual(
    [
      await from('2001:db8:0:1::1'),
      await from('2001:db8:0:1:ffff::'),
      await from('2001:DB8::1:0:0:0:5'),
      await from('2001:db8:0:1:1:2:3:4'),
      await from('2001:db8:0:1:0:0:192.0.2.1'),
    ],
    [422, 422, 422, 422, 422],
  );
  t.is(await from('2001:db8:0:1::9'), 429);
  t.is(await from('2001:db8:0:2::1'), 422);
});

test('without trustProxy X-Forwarded-For is ignored, with one warning in the log', async (t) => {
  await using server = await startLimited({}, false);
  const statuses = await times(7, async (index) => server.signIn(WRONG, `198.51.100.${index}`));
  t.deepEqual(statuses, [422, 422, 422, 422, 422, 429, 429]);
  const lines = server.platform.logger.lines.filter(({ message }) => message.includes('set trustProxy'));
  t.deepEqual(
    lines.map(({ level, fields }) => ({ level, fields })),
    [{ level: 'warn', fields: { address: '127.0.0.1' } }],
  );
});

test('ports in X-Forwarded-For are ignored, in the count and in the audit record', async (t) => {
  await using server = await startLimited();
  const ports = ['', ':80', ':4711', ':65535'];
  t.deepEqual(
    await times(6, async (index) => server.signIn(WRONG, `192.0.2.9${ports[index % 4]}`)),
    [422, 422, 422, 422, 422, 429],
  );
  t.deepEqual(
    await times(6, async (index) =>
      server.signIn({ ...BOB, password: 'x' }, `[2001:db8::${index}]:${index + 1}`),
    ),
    [422, 422, 422, 422, 422, 429],
  );
  t.is((await server.signIn(ANN, '192.0.2.10:4711')).status, 303);
  const records = await server.platform.auth.audit.list({ types: ['login_throttled'] });
  t.deepEqual(new Set(records.map(({ address }) => address)), new Set(['2001:db8::5', '192.0.2.9']));
});

test('an app that trusts more addresses of X-Forwarded-For than its proxy wrote logs one warning', async (t) => {
  const FORGED = 'which the caller can forge';
  for (const [count, header, lines] of [
    [0, '198.51.100.1, 192.0.2.1', 1],
    [0, '192.0.2.1', 0],
    [1, '198.51.100.1, 192.0.2.1', 0],
  ] as const) {
    await using server = await startLimited({}, true, count);
    await times(3, async () => server.signIn(WRONG, header));
    const said = server.platform.logger.lines.filter(({ message }) => message.includes(FORGED));
    t.is(said.length, lines, header);
  }
});

test('with auth.callback() only the last address of X-Forwarded-For is used', async (t) => {
  await using platform = await startPlatform({ trustProxy: true }, { app: ({ auth }) => auth.callback() });
  const from = async (forwarded: string) =>
    postForm(platform.url('/oauth/login'), WRONG, { 'x-forwarded-for': forwarded });
  const statuses = await times(6, async (index) => from(`198.51.100.${index}, 192.0.2.1`));
  t.deepEqual(statuses, [422, 422, 422, 422, 422, 429]);
  t.is((await from('198.51.100.1, 192.0.2.2')).status, 422);
});

test('while the storage is unreachable no password is checked', async (t) => {
  await using server = await startLimited();
  server.broken.add('attempts.count');
  const page = await server.signIn();
  t.is(page.status, 503);
  t.truthy(page.headers.get('retry-after'));
  t.deepEqual(server.asked, []);
  server.broken.clear();
  t.is((await server.signIn()).status, 303);
});

test('a right password succeeds also when the count cannot be reset', async (t) => {
  await using server = await startLimited();
  server.broken.add('attempts.release');
  t.is((await server.signIn()).status, 303);
  t.true(server.platform.logger.lines.some(({ message }) => message.includes('attempt count not restored')));
});

test('an error of the user store does not count as an attempt', async (t) => {
  const users = people();
  let isBroken = true;
  const authenticate: typeof users.authenticate = async (login, password) => {
    if (isBroken) throw new Error('the directory is unreachable');
    return users.authenticate(login, password);
  };
  await using server = await startLimited({ users: { ...users, authenticate } });
  t.deepEqual(
    await times(8, async () => server.signIn(WRONG)),
    Array.from({ length: 8 }, () => 500),
  );
  isBroken = false;
  t.deepEqual(await times(6, async () => server.signIn(WRONG)), [422, 422, 422, 422, 422, 429]);
});

test('that attempts are refused is recorded, without the login and the password', async (t) => {
  await using server = await startLimited();
  await times(7, async () => server.signIn(WRONG));
  const records = await server.platform.auth.audit.list({ types: ['login_throttled'] });
  // Once, however often it is repeated.
  t.is(records.length, 1);
  const { address, at: _at, id: _id, requestId, type, ...rest } = records[0]!;
  t.deepEqual({ address, type, rest }, { address: '192.0.2.1', type: 'login_throttled', rest: {} });
  t.truthy(requestId);
  t.false(server.platform.logger.lines.some(({ level }) => level === 'error'));
});

test('custom pages that do not handle too many attempts show an error page with 429', async (t) => {
  await using server = await startLimited({ interactions: unaware });
  t.deepEqual(await times(5, async () => server.signIn()), [200, 200, 200, 200, 200]);
  const page = await server.signIn();
  t.is(page.status, 429);
  t.truthy(page.headers.get('retry-after'));
  t.true(page.text.includes('Too many attempts'));
  t.false(server.platform.logger.lines.some(({ level }) => level === 'error'));
});

test('limits.attempts: false and login: false switch the limits off', async (t) => {
  for (const throttling of [false, { login: false }] as const) {
    await using server = await startLimited({ limits: { attempts: throttling } });
    t.deepEqual(tally(await Promise.all(Array.from({ length: 120 }, async () => server.signIn(WRONG)))), {
      422: 120,
    });
    t.deepEqual(server.counted, []);
  }
});
