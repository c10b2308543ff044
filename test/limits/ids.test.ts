import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { normalizeLogin } from '../../lib/limits/limits.ts';
import { networksOf } from '../../lib/limits/networks.ts';
import { contentsOf } from '../adapters/contents.ts';
import { sqlite } from '../adapters/databases.ts';
import { ANN, startLimited, times } from './platform.ts';

test('an address is normalized: IPv4 without port, IPv6 as its /64 network, anything else as "unknown"', (t) => {
  for (const [address, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['[2001:db8:1:2::7]:4711', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::7]', '2001:db8:1:2::/64'],
    ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
    ['192.0.2.1:port', 'unknown'],
    ['192.0.2.1:123456', 'unknown'],
    ['[192.0.2.1', 'unknown'],
    ['2001:db8::1]:80', 'unknown'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8::', '2001:db8:0:0::/64'],
    ['2001:db8:0:1:0:0:192.0.2.1', '2001:db8:0:1::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
    ['::', '0:0:0:0::/64'],
    ['', 'unknown'],
    ['192.0.2.256', 'unknown'],
    ['2001:db8:::1', 'unknown'],
    ['1.2.3.4, 5.6.7.8', 'unknown'],
  ] as const)
    t.is(networksOf(address)[0].name, network, address);
});

test('an address belongs to networks, each with a multiple of the limit of an address', (t) => {
  for (const [address, ...networks] of [
    [
      '2001:db8:1:2fff:3:4:5:6',
      { name: '2001:db8:1:2fff::/64', multiplier: 1 },
      { name: '2001:db8:1:2f00::/56', multiplier: 2 },
      { name: '2001:db8:1:0::/48', multiplier: 3 },
    ],
    ['::ffff:192.0.2.77', { name: '192.0.2.77', multiplier: 1 }, { name: '192.0.2.0/24', multiplier: 3 }],
    ['no address', { name: 'unknown', multiplier: 1 }],
  ] as const)
    t.deepEqual(networksOf(address), networks);
});

test('spellings of a login are normalized to one account', (t) => {
  for (const spelling of ['ANN', ' Ann ', 'Änn', 'A\u0308nn', 'ａｎｎ', 'a\u200bn\u0000n', 'ann\u3000'])
    t.is(normalizeLogin(spelling), 'ann', JSON.stringify(spelling));
  t.is(normalizeLogin('Straße'), normalizeLogin('STRASSE'));
  t.not(normalizeLogin('ann'), normalizeLogin('anna'));
  t.is(normalizeLogin(''), '');
});

test('the database has no login, address or client id of an attempt in plain text, nor a hash of a guess', async (t) => {
  const ids = new Set<string>();
  for (const key of ['a', 'b']) {
    const address = await sqlite.empty();
    await using server = await startLimited({
      storage: knexStorage(address),
      secrets: { cookieKeys: [key.repeat(32)] },
    });
    await times(2, async () => server.signIn({ ...ANN, password: 'wrong' }, '198.51.100.77'));
    const client = { client_id: 'unknown', client_secret: 'x' };
    await server.platform.token({ grant_type: 'client_credentials', ...client });
    for (const { id } of (await contentsOf(sqlite, address)).get('gatehouse_attempts')!)
      ids.add(id as string);
  }
  // Five for the login, by account, address and network, and four for the client; others with another cookie key.
  t.is(ids.size, 2 * 9);
  for (const id of ids) t.regex(id, /^[\w-]{43}$/);
});
