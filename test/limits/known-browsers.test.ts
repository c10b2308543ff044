import { randomBytes } from 'node:crypto';

import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createKnownBrowsers } from '../../lib/limits/known-browsers.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { passTime } from '../harness/clock.ts';
import { people } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { ANN, BOB, deviceOf, startLimited, tally, times } from './platform.ts';
import type { LimitedPlatform } from './platform.ts';

const WRONG = { ...ANN, password: 'a-wrong-one' };
const ELSEWHERE = '203.0.113.9';

/** Two nodes on one database, and the device cookies of browsers that Ann and Bob have signed in on. */
async function startTwoNodes(t: ExecutionContext, open: () => Storage) {
  const [one, two] = [await startLimited({ storage: open() }), await startLimited({ storage: open() })];
  const nodes = [one, two] as const;
  t.teardown(async () => Promise.all(nodes.map(async (node) => node[Symbol.asyncDispose]())));
  const [ann, bob] = [deviceOf(await one.signIn(ANN))!, deviceOf(await one.signIn(BOB))!];
  for (const node of nodes) node.asked.length = 0;
  return { one, two, ann, bob, at: (index: number): LimitedPlatform => nodes[index % 2]! };
}

/** Two nodes on one storage in memory. */
async function startInMemory(t: ExecutionContext): ReturnType<typeof startTwoNodes> {
  const storage = memoryStorage();
  return startTwoNodes(t, () => storage);
}

/** An address in one /48, of a /64 of its own. */
const from = (index: number): string => `2001:db8:7:${(index * 0x101).toString(16)}::${index}`;

// Sets the clock ahead: the tests below it start afterwards.
test.serial('a browser stays known for deviceLifetime after the last login on it', async (t) => {
  await using server = await startLimited({
    limits: { attempts: { login: { perAccount: 1, deviceLifetime: '30 days' } } },
  });
  const device = deviceOf(await server.signIn())!;
  passTime(29 * 86_400);
  const renewed = deviceOf(await server.signIn(ANN, ELSEWHERE, device))!;
  passTime(29 * 86_400);
  t.is((await server.signIn(WRONG, '198.51.100.1')).status, 422);
  t.is((await server.signIn(ANN, ELSEWHERE, device)).status, 429);
  t.is((await server.signIn(ANN, ELSEWHERE, renewed)).status, 303);
});

onEachDatabase(
  'during concurrent failures on two nodes, the user can sign in on a known browser',
  async (t, _database, address) => {
    const { at, ann } = await startTwoNodes(t, () => knexStorage(address));
    const attack = Array.from({ length: 60 }, async (_, index) =>
      at(index).signIn(WRONG, `198.51.${index % 30}.7`),
    );
    // Concurrent attempts of one browser wait for each other on one node only.
    const owner = await times(6, async (index) => at(index).signIn(ANN, ELSEWHERE, ann));
    t.deepEqual(new Set(owner), new Set([303]));
    t.deepEqual(tally(await Promise.all(attack)), { 422: 20, 429: 40 });
  },
);

test('twenty failures from four addresses do not block a known browser, on either node', async (t) => {
  const { one, two, at, ann } = await startInMemory(t);
  await times(30, async (index) => at(index).signIn(WRONG, `198.51.${index % 4}.7`));
  t.is(one.asked.length + two.asked.length, 20);
  for (const node of [one, two]) {
    t.is((await node.signIn(ANN, ELSEWHERE)).status, 429, 'a new browser is blocked');
    for (const place of [ELSEWHERE, '198.51.1.7']) t.is((await node.signIn(ANN, place, ann)).status, 303);
  }
});

test('a forged, altered or foreign device cookie allows no further attempts', async (t) => {
  const { at, ann, bob } = await startInMemory(t);
  const strangers = createKnownBrowsers(() => [randomBytes(32).toString('hex')], 3600);
  const forged = strangers.renew('', ANN.login).cookie;
  const flipped = ann.replace(/^./, (first) => (first === 'x' ? 'y' : 'x'));
  const longer = ann.slice(0, 22) + 'zzzzzzz' + ann.slice(29);
  const cookies = [bob, forged, flipped, longer, `${ann}x`.slice(1), 'x', ann.repeat(11), ''];
  const pages = await Promise.all(
    Array.from({ length: 60 }, async (_, index) =>
      at(index).signIn(WRONG, `198.51.${index % 30}.7`, cookies[index % cookies.length]),
    ),
  );
  t.deepEqual(tally(pages), { 422: 20, 429: 40 });
});

test('a copied device cookie allows the attempts of its browser only', async (t) => {
  const { one, two, at, ann } = await startInMemory(t);
  const renewed = deviceOf(await two.signIn(ANN, ELSEWHERE, ann))!;
  const pages = await Promise.all(
    Array.from({ length: 30 }, async (_, index) =>
      at(index).signIn(WRONG, `198.51.${index}.7`, index % 3 === 0 ? renewed : ann),
    ),
  );
  t.deepEqual(tally(pages), { 422: 5, 429: 25 });
  t.is((await one.signIn(ANN, ELSEWHERE, ann)).status, 429);
  // Attempts without a device cookie are counted separately.
  t.is((await one.signIn(ANN, ELSEWHERE)).status, 303);
});

test('attempts from one IPv6 /48 block neither other networks nor a known browser', async (t) => {
  const { one, two, at, ann } = await startInMemory(t);
  await times(40, async (index) => at(index).signIn(WRONG, from(index)));
  t.is(one.asked.length + two.asked.length, 15);
  t.is((await one.signIn(ANN, from(1))).status, 429);
  t.is((await one.signIn(ANN, from(1), ann)).status, 303);
  t.is((await two.signIn(ANN, '2001:db8:8::1')).status, 303);
});

test('a hundred unknown logins from one NAT address do not block a known browser', async (t) => {
  const { one, two, at, ann, bob } = await startInMemory(t);
  const NAT = '192.0.2.200';
  await times(110, async (index) =>
    at(index).signIn({ login: `unknown${index}@school.example`, password: 'x' }, NAT),
  );
  t.is((await one.signIn(ANN, NAT)).status, 429, 'a new browser is blocked');
  t.is((await one.signIn(ANN, NAT, ann)).status, 303);
  t.is((await two.signIn(BOB, NAT, bob)).status, 303);
});

test('the right password resets the count of a known browser', async (t) => {
  await using server = await startLimited();
  const device = deviceOf(await server.signIn())!;
  const fail = async () => server.signIn(WRONG, ELSEWHERE, device);
  for (let round = 0; round < 3; round += 1) {
    t.deepEqual(await times(4, fail), [422, 422, 422, 422]);
    t.is((await server.signIn(ANN, ELSEWHERE, device)).status, 303);
  }
  t.deepEqual(await times(6, fail), [422, 422, 422, 422, 422, 429]);
});

test('the device cookie of a shared browser has the last ten users', (t) => {
  const browsers = createKnownBrowsers(() => ['x'.repeat(32)], 3600);
  let cookie = '';
  for (let index = 0; index < 12; index += 1) ({ cookie } = browsers.renew(cookie, `pupil${index}`));
  const ids = Array.from({ length: 12 }, (_, index) => browsers.find(cookie, `pupil${index}`));
  t.deepEqual(ids.slice(0, 2), [undefined, undefined]);
  t.false(ids.slice(2).includes(undefined));
  t.is(new Set(ids.slice(2)).size, 10, 'the ids of one browser are not linked');
  t.is(browsers.find(browsers.renew(cookie, 'Pupil11').cookie, 'pupil11'), ids[11]);
  t.is(browsers.find(cookie, 'unknown'), undefined);
  t.false(cookie.includes('pupil'));
});

test('a browser stays known when the cookie keys are rotated, and is unknown with other keys', (t) => {
  const [older, newer] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
  const before = createKnownBrowsers(() => [older], 3600);
  const after = createKnownBrowsers(() => [newer, older], 3600);
  const { cookie } = before.renew('', 'ann');
  const id = before.find(cookie, 'ann');
  t.is(after.find(cookie, 'ann'), id);
  const renewed = after.renew(cookie, 'ann').cookie;
  t.is(before.find(renewed, 'ann'), undefined);
  const alone = createKnownBrowsers(() => [newer], 3600);
  t.is(alone.find(renewed, 'ann'), id);
  t.is(alone.find(cookie, 'ann'), undefined);
});

test('no device cookie is set after a wrong password, nor by a server without limits for logins', async (t) => {
  await using server = await startLimited();
  t.is(deviceOf(await server.signIn(WRONG)), undefined);
  await using open = await startLimited({ limits: { attempts: { login: false } } });
  const page = await open.signIn();
  t.is(page.status, 303);
  t.is(deviceOf(page), undefined);
});

test('with currentUser the bundled login page sets device cookies too', async (t) => {
  await using server = await startLimited({ users: people(), login: { currentUser: () => undefined } });
  const device = deviceOf(await server.signIn())!;
  await times(20, async (index) => server.signIn(WRONG, `198.51.${index}.7`));
  t.is((await server.signIn(ANN, ELSEWHERE)).status, 429);
  t.is((await server.signIn(ANN, ELSEWHERE, device)).status, 303);
  await using elsewhere = await startLimited({ login: { currentUser: () => undefined, url: '/login' } });
  const sent = await send(elsewhere.platform.url('/oauth/login'));
  t.regex(sent.headers.get('location')!, /^http:\/\/127\.0\.0\.1:\d+\/login\?return_to=/);
});
