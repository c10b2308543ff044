// Alone, first: it makes hundreds of guesses.
import { randomBytes } from 'node:crypto';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

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
async function startTwoNodes(
  t: ExecutionContext,
  address: string,
): Promise<{ nodes: readonly [LimitedPlatform, LimitedPlatform]; ann: string; bob: string }> {
  const storages = [knexStorage(address), knexStorage(address)] as const;
  const nodes = [
    await startLimited({ storage: storages[0] }),
    await startLimited({ storage: storages[1] }),
  ] as const;
  t.teardown(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
    for (const storage of storages) await storage.close();
  });
  const [ann, bob] = [await nodes[0].signIn(ANN), await nodes[0].signIn(BOB)];
  for (const node of nodes) node.asked.length = 0;
  return { nodes, ann: deviceOf(ann)!, bob: deviceOf(bob)! };
}

/** An address in one /48, of a /64 of its own. */
const from = (index: number): string => `2001:db8:7:${(index * 0x101).toString(16)}::${index}`;

const asked = (nodes: readonly LimitedPlatform[]): number =>
  nodes.reduce((sum, node) => sum + node.asked.filter((login) => login === ANN.login).length, 0);

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
  'twenty failures from four addresses do not block a known browser, on either node',
  async (t, _database, address) => {
    const { nodes, ann } = await startTwoNodes(t, address);
    await times(40, async (index) => nodes[index % 2]!.signIn(WRONG, `198.51.${index % 4}.7`));
    t.is(asked(nodes), 20);
    for (const node of nodes) {
      t.is((await node.signIn(ANN, ELSEWHERE)).status, 429, 'a new browser is blocked');
      for (const place of [ELSEWHERE, '198.51.1.7']) {
        t.is((await node.signIn(ANN, place, ann)).status, 303);
      }
    }
  },
);

onEachDatabase(
  'during concurrent failures on two nodes, the user can sign in on a known browser',
  async (t, _database, address) => {
    const { nodes, ann } = await startTwoNodes(t, address);
    const attack = Array.from({ length: 120 }, async (_, index) =>
      nodes[index % 2]!.signIn(WRONG, `198.51.${index % 30}.7`),
    );
    // Concurrent attempts of one browser wait for each other on one node only.
    const owner = await times(10, async (index) => nodes[index % 2]!.signIn(ANN, ELSEWHERE, ann));
    t.deepEqual(
      owner,
      Array.from({ length: 10 }, () => 303),
    );
    t.deepEqual(tally(await Promise.all(attack)), { 422: 20, 429: 100 });
  },
);

onEachDatabase(
  'a forged, altered or foreign device cookie allows no further attempts',
  async (t, _database, address) => {
    const { nodes, ann, bob } = await startTwoNodes(t, address);
    const forged = createKnownBrowsers(() => [randomBytes(32).toString('hex')], 3600).renew(
      '',
      ANN.login,
    ).cookie;
    const flipped = ann.replace(/^./, (first) => (first === 'x' ? 'y' : 'x'));
    const longer = ann.slice(0, 22) + 'zzzzzzz' + ann.slice(29);
    const cookies = [bob, forged, flipped, longer, `${ann}x`.slice(1), 'x', ann.repeat(11), ''];
    const pages = await Promise.all(
      Array.from({ length: 120 }, async (_, index) =>
        nodes[index % 2]!.signIn(WRONG, `198.51.${index % 30}.7`, cookies[index % cookies.length]),
      ),
    );
    t.deepEqual(tally(pages), { 422: 20, 429: 100 });
    t.is(asked(nodes), 20);
  },
);

onEachDatabase(
  'a copied device cookie allows the attempts of its browser only',
  async (t, _database, address) => {
    const { nodes, ann } = await startTwoNodes(t, address);
    const renewed = deviceOf(await nodes[1].signIn(ANN, ELSEWHERE, ann))!;
    t.is(renewed.slice(0, 22), ann.slice(0, 22), 'the same browser');
    for (const node of nodes) node.asked.length = 0;
    const pages = await Promise.all(
      Array.from({ length: 60 }, async (_, index) =>
        nodes[index % 2]!.signIn(WRONG, `198.51.${index}.7`, index % 3 === 0 ? renewed : ann),
      ),
    );
    t.deepEqual(tally(pages), { 422: 5, 429: 55 });
    t.is((await nodes[0].signIn(ANN, ELSEWHERE, ann)).status, 429);
    t.is(
      (await nodes[0].signIn(ANN, ELSEWHERE)).status,
      303,
      'attempts without a device cookie are counted separately',
    );
  },
);

onEachDatabase(
  'attempts from one IPv6 /48 block neither other networks nor a known browser',
  async (t, _database, address) => {
    const { nodes, ann } = await startTwoNodes(t, address);
    await times(60, async (index) => nodes[index % 2]!.signIn(WRONG, from(index)));
    t.is(asked(nodes), 15);
    t.is((await nodes[0].signIn(ANN, from(1))).status, 429);
    t.is((await nodes[0].signIn(ANN, from(1), ann)).status, 303);
    t.is((await nodes[1].signIn(ANN, '2001:db8:8::1')).status, 303);
  },
);

onEachDatabase(
  'a hundred unknown logins from one NAT address do not block a known browser',
  async (t, _database, address) => {
    const { nodes, ann, bob } = await startTwoNodes(t, address);
    const NAT = '192.0.2.200';
    await times(110, async (index) =>
      nodes[index % 2]!.signIn({ login: `unknown${index}@school.example`, password: 'x' }, NAT),
    );
    t.is((await nodes[0].signIn(ANN, NAT)).status, 429, 'a new browser is blocked');
    t.is((await nodes[0].signIn(ANN, NAT, ann)).status, 303);
    t.is((await nodes[1].signIn(BOB, NAT, bob)).status, 303);
  },
);

test('the right password resets the count of a known browser', async (t) => {
  await using server = await startLimited();
  const device = deviceOf(await server.signIn())!;
  for (let round = 0; round < 3; round += 1) {
    t.deepEqual(await times(4, async () => server.signIn(WRONG, ELSEWHERE, device)), [422, 422, 422, 422]);
    t.is((await server.signIn(ANN, ELSEWHERE, device)).status, 303);
  }
  t.deepEqual(
    await times(6, async () => server.signIn(WRONG, ELSEWHERE, device)),
    [422, 422, 422, 422, 422, 429],
  );
});

test('the device cookie of a shared browser has the last ten users', async (t) => {
  const browsers = createKnownBrowsers(() => ['x'.repeat(32)], 3600);
  let cookie = '';
  for (let index = 0; index < 12; index += 1) ({ cookie } = browsers.renew(cookie, `pupil${index}`));
  const ids = Array.from({ length: 12 }, (_, index) => browsers.find(cookie, `pupil${index}`));
  t.deepEqual(
    ids.map((id) => id !== undefined),
    Array.from({ length: 12 }, (_, index) => index >= 2),
  );
  t.is(new Set(ids.slice(2)).size, 10, 'the ids of one browser are not linked');
  t.is(browsers.find(browsers.renew(cookie, 'Pupil11').cookie, 'pupil11'), ids[11]);
  t.is(browsers.find(cookie, 'unknown'), undefined);
  t.false(cookie.includes('pupil'));
});

test('a browser stays known when the cookie keys are rotated, and is unknown with other keys', async (t) => {
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
