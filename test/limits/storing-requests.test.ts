import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createAttemptIds, createLimiter } from '../../lib/limits/limiter.ts';
import { storingLimit } from '../../lib/limits/limits.ts';

test('strangers of many networks cannot use up what a public client may begin', async (t) => {
  const limit = storingLimit('device', { perAddress: 5, perClient: 100, window: 600 });
  const limiter = createLimiter(memoryStorage().attempts, limit, {
    ids: createAttemptIds(() => ['secret']),
    logger: { warn() {} },
  });
  const accepted = async (address: string, confidential = false): Promise<number> => {
    let count = 0;
    for (let time = 0; time < 110; time += 1) {
      await limiter.take({ client: { id: 'cli', confidential }, address }).then(
        () => (count += 1),
        (error: unknown) => t.regex(String(error), /Too many attempts\. Try again in \d+ s/),
      );
    }
    return count;
  };
  for (let network = 0; network < 10; network += 1) {
    const hosts = [1, 2, 3, 4].map(async (host) => accepted(`192.0.${network}.${host}`));
    t.is(
      (await Promise.all(hosts)).reduce((sum, count) => sum + count),
      15,
    );
  }
  t.is(await accepted('198.51.100.1'), 5);
  t.is(await accepted('2001:db8:1:1::1'), 5);
  // All users of a confidential client have the address of its server.
  t.is(await accepted('198.51.100.1', true), 100);
});
