import test from '../harness/test.ts';

import { TooManyAttemptsError } from '../../lib/errors.ts';
import { createRemoteWaits } from '../../lib/limits/remote-waits.ts';

type Place = Parameters<ReturnType<typeof createRemoteWaits>['wait']>[0];

const urlOf = (index: number): string => `https://h${index}.apps.example/client.json`;

/** Another URL from another network each time, but for what is given. */
function from(given: (index: number) => Partial<Place> = () => ({})): (index: number) => Place {
  return (index) => ({
    url: urlOf(index),
    address: `10.${index >> 8}.${index & 255}.1`,
    ...given(index),
  });
}

for (const [what, expected, requests, placeOf] of [
  ['in all', 100, 1000, from()],
  ['in all, of few requests', 2, 20, from()],
  ['in all, of any number', 100, 0, from()],
  ['in all, of very many', 100, 100_000, from()],
  ['at all, of one request', 1, 1, from()],
  ['for a URL', 20, 1000, from(() => ({ url: urlOf(0) }))],
  ['from an address', 10, 1000, from(() => ({ address: '192.0.2.1' }))],
  ['from an IPv4 /24', 30, 1000, from((index) => ({ address: `192.0.2.${index % 256}` }))],
  ['from an IPv6 /64', 10, 1000, from((index) => ({ address: `2001:db8::${index}` }))],
  ['from an IPv6 /56', 20, 1000, from((index) => ({ address: `2001:db8:0:${index % 10}::1` }))],
  ['from an IPv6 /48', 30, 1000, from((index) => ({ address: `2001:db8:0:${index}::1` }))],
  ['from unknown addresses', 10, 1000, from((index) => ({ address: `x${index}` }))],
] as const) {
  test(`${expected} requests wait ${what}, and as many again afterwards`, async (t) => {
    const waits = createRemoteWaits({ concurrency: requests });
    for (let round = 0; round < 2; round += 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiting = Array.from({ length: 300 }, async (_, index) =>
        waits.wait(placeOf(index), () => promise),
      );
      resolve();
      const results = await Promise.allSettled(waiting);
      t.is(results.filter(({ status }) => status === 'fulfilled').length, expected);
      const { reason } = results.find((result) => result.status === 'rejected')!;
      t.true(reason instanceof TooManyAttemptsError && reason.retryAfter === 5);
    }
  });
}

test('one address leaves places for others, for the same URL too', async (t) => {
  const waits = createRemoteWaits({ concurrency: 1000 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const place = { url: urlOf(0), address: '192.0.2.1' };
  const waiting = Array.from({ length: 20 }, async () => waits.wait(place, () => promise));
  t.is(await waits.wait({ url: urlOf(0), address: '198.51.100.1' }, () => 'read'), 'read');
  resolve();
  await Promise.allSettled(waiting);
});

const fail = (): never => {
  throw new Error('refused');
};

test('a read that fails leaves its place', async (t) => {
  const waits = createRemoteWaits({ concurrency: 1 });
  const place = { url: urlOf(0), address: '192.0.2.1' };
  await t.throwsAsync(
    waits.wait(place, () => Promise.reject(new Error('down'))),
    { message: 'down' },
  );
  await t.throwsAsync(waits.wait(place, fail), { message: 'refused' });
  t.is(await waits.wait(place, async () => 'read'), 'read');
});
