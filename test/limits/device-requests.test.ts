import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createAttemptIds, createLimiter } from '../../lib/limits/limiter.ts';
import { deviceRequestLimit } from '../../lib/limits/limits.ts';

// The defaults.
const LIMITS = { perAddress: 50, perClient: 10_000, window: 600 };

test('strangers of a hundred networks cannot use up what a public client may begin', async (t) => {
  const limiter = createLimiter(memoryStorage().attempts, deviceRequestLimit(LIMITS), {
    ids: createAttemptIds(() => ['secret']),
    logger: { warn() {} },
  });
  const client = { id: 'cli', confidential: false };
  const counted = async (address: string, times: number): Promise<number> => {
    let accepted = 0;
    for (let count = 0; count < times; count += 1) {
      await limiter.take({ client, address }).then(
        () => (accepted += 1),
        (error: unknown) => t.regex(String(error), /Too many attempts\. Try again in \d+ s/),
      );
    }
    return accepted;
  };
  let total = 0;
  for (let network = 0; network < 100; network += 1) {
    const each = [1, 2, 3, 4].map(async (host) => counted(`192.0.${network}.${host}`, 60));
    const ofNetwork = (await Promise.all(each)).reduce((sum, one) => sum + one, 0);
    t.is(ofNetwork, 150);
    total += ofNetwork;
  }
  t.true(total > LIMITS.perClient);
  t.is(await counted('198.51.100.1', 1), 1);
  t.is(await counted('2001:db8:1:1::1', 60), 50);
});
