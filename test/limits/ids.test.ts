import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { normalizeLogin } from '../../lib/limits/limits.ts';
import { networksOf } from '../../lib/limits/networks.ts';
import { contentsOf } from '../adapters/contents.ts';
import { sqlite } from '../adapters/databases.ts';
import { ANN, startLimited, times } from './platform.ts';

test('an address is normalized: IPv4 without port, IPv6 as its /64 network, anything else as "unknown"', (t) => {
  const cases: Record<string, string> = {
    '192.0.2.1': '192.0.2.1',
    '192.0.2.1:4711': '192.0.2.1',
    ' 192.0.2.1 ': '192.0.2.1',
    '[2001:db8:1:2::7]:4711': '2001:db8:1:2::/64',
    '[2001:db8:1:2::7]': '2001:db8:1:2::/64',
    '[::ffff:192.0.2.1]:80': '192.0.2.1',
    '192.0.2.1:port': 'unknown',
    '192.0.2.1:123456': 'unknown',
    '[192.0.2.1': 'unknown',
    '2001:db8::1]:80': 'unknown',
    '::ffff:192.0.2.1': '192.0.2.1',
    '::FFFF:c000:201': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:DB8::': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '1::2:3:4:5:6:7': '1:0:2:3::/64',
    '::': '0:0:0:0::/64',
    '': 'unknown',
    '192.0.2.256': 'unknown',
    '2001:db8:::1': 'unknown',
    'no address': 'unknown',
    '1.2.3.4, 5.6.7.8': 'unknown',
  };
  for (const [address, network] of Object.entries(cases)) t.is(networksOf(address)[0].name, network, address);
});

const counted = (address: string): [string, number][] =>
  networksOf(address).map(({ name, multiplier: count }) => [name, count]);

test('an address belongs to networks, each with a multiple of the limit of an address', (t) => {
  t.deepEqual(counted('2001:db8:1:2fff:3:4:5:6'), [
    ['2001:db8:1:2fff::/64', 1],
    ['2001:db8:1:2f00::/56', 2],
    ['2001:db8:1:0::/48', 3],
  ]);
  t.deepEqual(counted('192.0.2.77'), [
    ['192.0.2.77', 1],
    ['192.0.2.0/24', 3],
  ]);
  t.deepEqual(counted('::ffff:192.0.2.77'), counted('192.0.2.77'));
  t.deepEqual(counted('no address'), [['unknown', 1]]);
});

test('spellings of a login are normalized to one account', (t) => {
  for (const spelling of [
    'ann',
    'ANN',
    ' Ann ',
    'Änn',
    'A\u0308nn',
    'ａｎｎ',
    'a\u200bn\u0000n',
    'ann\u3000',
  ]) {
    t.is(normalizeLogin(spelling), 'ann', JSON.stringify(spelling));
  }
  t.is(normalizeLogin('Straße'), normalizeLogin('STRASSE'));
  t.not(normalizeLogin('ann'), normalizeLogin('anna'));
  t.is(normalizeLogin(''), '');
});

test('the database has no login, address or client id of an attempt in plain text', async (t) => {
  const address = await sqlite.empty();
  await using server = await startLimited({ storage: knexStorage(address) });
  const wrong = { ...ANN, password: 'wrong' };
  await times(6, async () => server.signIn(wrong, '198.51.100.77'));
  await server.platform.token({
    grant_type: 'client_credentials',
    client_id: 'unknown',
    client_secret: 'x',
  });
  const tables = await contentsOf(sqlite, address);
  const rows = tables.get('gatehouse_attempts')!;
  // Five for the login, by account, address and network, and four for the client.
  t.is(rows.length, 9);
  for (const { id } of rows) t.regex(id as string, /^[\w-]{43}$/);
});

test('ids depend on the cookie keys, so that logins cannot be found by hashing guesses', async (t) => {
  const ids = new Set<unknown>();
  for (const key of ['a', 'b']) {
    const address = await sqlite.empty();
    await using server = await startLimited({
      storage: knexStorage(address),
      secrets: { cookieKeys: [key.repeat(32)] },
    });
    await server.signIn({ ...ANN, password: 'wrong' });
    for (const { id } of (await contentsOf(sqlite, address)).get('gatehouse_attempts')!) ids.add(id);
  }
  t.is(ids.size, 10);
});
