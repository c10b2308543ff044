import { randomBytes } from 'node:crypto';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { createKnownBrowsers } from '../../lib/throttle/known-browsers.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { passTime } from '../harness/clock.ts';
import { people } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { ANN, BOB, deviceOf, startGuessed, tally, times } from './platform.ts';
import type { GuessedPlatform } from './platform.ts';

const WRONG = { ...ANN, password: 'a-wrong-one' };
const ELSEWHERE = '203.0.113.9';

/** Two nodes on one database, and the device cookies of browsers that Ann and Bob have signed in on. */
async function startAttacked(
  t: ExecutionContext,
  address: string,
): Promise<{ nodes: readonly [GuessedPlatform, GuessedPlatform]; ann: string; bob: string }> {
  const storages = [knexStorage(address), knexStorage(address)] as const;
  const nodes = [
    await startGuessed({ storage: storages[0] }),
    await startGuessed({ storage: storages[1] }),
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

const asked = (nodes: readonly GuessedPlatform[]): number =>
  nodes.reduce((sum, node) => sum + node.asked.filter((login) => login === ANN.login).length, 0);

// What sets the clock ahead comes first; the others begin afterwards.
test.serial('a browser is known for its lifetime after the last login on it', async (t) => {
  await using server = await startGuessed({
    throttling: { login: { perAccount: 1, deviceLifetime: '30 days' } },
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
  'twenty failures from four addresses refuse no browser that is known, on no node',
  async (t, _database, address) => {
    const { nodes, ann } = await startAttacked(t, address);
    await times(40, async (index) => nodes[index % 2]!.signIn(WRONG, `198.51.${index % 4}.7`));
    t.is(asked(nodes), 20);
    for (const node of nodes) {
      t.is((await node.signIn(ANN, ELSEWHERE)).status, 429, 'the first login on a new browser waits');
      for (const place of [ELSEWHERE, '198.51.1.7']) {
        t.is((await node.signIn(ANN, place, ann)).status, 303);
      }
    }
  },
);

onEachDatabase(
  'while strangers fail at once on two nodes, the owner gets in each time',
  async (t, _database, address) => {
    const { nodes, ann } = await startAttacked(t, address);
    const attack = Array.from({ length: 120 }, async (_, index) =>
      nodes[index % 2]!.signIn(WRONG, `198.51.${index % 30}.7`),
    );
    // Several tries at once of one browser wait for each other on one node only.
    const owner = await times(10, async (index) => nodes[index % 2]!.signIn(ANN, ELSEWHERE, ann));
    t.deepEqual(
      owner,
      Array.from({ length: 10 }, () => 303),
    );
    t.deepEqual(tally(await Promise.all(attack)), { 422: 20, 429: 100 });
  },
);

onEachDatabase(
  'who steals nothing gets no guess more, with whatever cookie',
  async (t, _database, address) => {
    const { nodes, ann, bob } = await startAttacked(t, address);
    const forged = createKnownBrowsers([randomBytes(32).toString('hex')], 3600).renew('', ANN.login).cookie;
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
  'a copied cookie gets the attempts of its browser, and no others',
  async (t, _database, address) => {
    const { nodes, ann } = await startAttacked(t, address);
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
    t.is((await nodes[0].signIn(ANN, ELSEWHERE)).status, 303, 'nor does it spend those of strangers');
  },
);

onEachDatabase(
  'one IPv6 /48 spends neither the attempts of others nor those of a known browser',
  async (t, _database, address) => {
    const { nodes, ann } = await startAttacked(t, address);
    await times(60, async (index) => nodes[index % 2]!.signIn(WRONG, from(index)));
    t.is(asked(nodes), 15);
    t.is((await nodes[0].signIn(ANN, from(1))).status, 429);
    t.is((await nodes[0].signIn(ANN, from(1), ann)).status, 303);
    t.is((await nodes[1].signIn(ANN, '2001:db8:8::1')).status, 303);
  },
);

onEachDatabase(
  'a hundred made-up logins behind a school’s NAT refuse no browser that is known',
  async (t, _database, address) => {
    const { nodes, ann, bob } = await startAttacked(t, address);
    const NAT = '192.0.2.200';
    await times(110, async (index) =>
      nodes[index % 2]!.signIn({ login: `nobody${index}@school.example`, password: 'x' }, NAT),
    );
    t.is((await nodes[0].signIn(ANN, NAT)).status, 429, 'the first login on a new browser waits');
    t.is((await nodes[0].signIn(ANN, NAT, ann)).status, 303);
    t.is((await nodes[1].signIn(BOB, NAT, bob)).status, 303);
  },
);

test('the right password gives a known browser its attempts back', async (t) => {
  await using server = await startGuessed();
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

test('people who share a browser are each known on it, the last ten of them', async (t) => {
  const browsers = createKnownBrowsers(['x'.repeat(32)], 3600);
  let cookie = '';
  for (let index = 0; index < 12; index += 1) ({ cookie } = browsers.renew(cookie, `pupil${index}`));
  const ids = Array.from({ length: 12 }, (_, index) => browsers.find(cookie, `pupil${index}`));
  t.deepEqual(
    ids.map((id) => id !== undefined),
    Array.from({ length: 12 }, (_, index) => index >= 2),
  );
  t.is(new Set(ids.slice(2)).size, 10, 'and nothing tells that it is one browser');
  t.is(browsers.find(browsers.renew(cookie, 'Pupil11').cookie, 'pupil11'), ids[11]);
  t.is(browsers.find(cookie, 'somebody'), undefined);
  t.false(cookie.includes('pupil'));
});

test('a known browser stays known when the cookie keys are rotated, and not with others', async (t) => {
  const [older, newer] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
  const before = createKnownBrowsers([older], 3600);
  const after = createKnownBrowsers([newer, older], 3600);
  const { cookie } = before.renew('', 'ann');
  const id = before.find(cookie, 'ann');
  t.is(after.find(cookie, 'ann'), id);
  const renewed = after.renew(cookie, 'ann').cookie;
  t.is(before.find(renewed, 'ann'), undefined);
  const alone = createKnownBrowsers([newer], 3600);
  t.is(alone.find(renewed, 'ann'), id);
  t.is(alone.find(cookie, 'ann'), undefined);
});

test('a wrong password makes no browser known, and a server without limits sets no cookie', async (t) => {
  await using server = await startGuessed();
  t.is(deviceOf(await server.signIn(WRONG)), undefined);
  await using open = await startGuessed({ throttling: { login: false } });
  const page = await open.signIn();
  t.is(page.status, 303);
  t.is(deviceOf(page), undefined);
});

test('where the host knows who is signed in, the bundled page knows browsers too', async (t) => {
  await using server = await startGuessed({ users: people(), currentUser: () => undefined });
  const device = deviceOf(await server.signIn())!;
  await times(20, async (index) => server.signIn(WRONG, `198.51.${index}.7`));
  t.is((await server.signIn(ANN, ELSEWHERE)).status, 429);
  t.is((await server.signIn(ANN, ELSEWHERE, device)).status, 303);
  await using elsewhere = await startGuessed({ currentUser: () => undefined, loginUrl: '/login' });
  const sent = await send(elsewhere.platform.url('/oauth/login'));
  t.regex(sent.headers.get('location')!, /^http:\/\/127\.0\.0\.1:\d+\/login\?return_to=/);
});
