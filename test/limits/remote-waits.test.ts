import test from 'ava';
import type { ExecutionContext } from 'ava';

import { TooManyAttemptsError } from '../../lib/errors.ts';
import { createRemoteWaits } from '../../lib/limits/remote-waits.ts';

const URL_OF = (index: number): string => `https://h${index}.apps.example/client.json`;

/** Begins waits until one is refused; returns how many were not, and what ends them. */
function fill(
  t: ExecutionContext,
  waits: ReturnType<typeof createRemoteWaits>,
  placeOf: (index: number) => { readonly url: string; readonly address: string },
): { readonly waiting: number; end(this: void): Promise<void> } {
  const ended = Promise.withResolvers<void>();
  const waiting: Array<Promise<void>> = [];
  let isRefused = false;
  let reads = 0;
  const begin = async (index: number): Promise<void> => {
    try {
      await waits.wait(placeOf(index), async () => {
        reads += 1;
        return ended.promise;
      });
    } catch (error) {
      t.true(error instanceof TooManyAttemptsError && error.retryAfter === 5);
      isRefused = true;
    }
  };
  for (let index = 0; index < 1000; index += 1) waiting.push(begin(index));
  return {
    waiting: reads,
    async end() {
      ended.resolve();
      await Promise.all(waiting);
      t.true(isRefused);
    },
  };
}

const address = (index: number): string => `10.${index >> 8}.${index & 255}.1`;

const CASES: ReadonlyArray<
  readonly [string, number, number, (index: number) => { readonly url: string; readonly address: string }]
> = [
  ['in all', 100, 1000, (index) => ({ url: URL_OF(index), address: address(index) })],
  ['in all, of few requests', 2, 20, (index) => ({ url: URL_OF(index), address: address(index) })],
  ['in all, of any number', 100, 0, (index) => ({ url: URL_OF(index), address: address(index) })],
  ['in all, of very many', 100, 100_000, (index) => ({ url: URL_OF(index), address: address(index) })],
  ['at all, of one request', 1, 1, (index) => ({ url: URL_OF(index), address: address(index) })],
  ['for a URL', 20, 1000, (index) => ({ url: URL_OF(0), address: address(index) })],
  ['from an address', 10, 1000, (index) => ({ url: URL_OF(index), address: '192.0.2.1' })],
  ['from an IPv4 /24', 30, 1000, (index) => ({ url: URL_OF(index), address: `192.0.2.${index % 256}` })],
  ['from an IPv6 /64', 10, 1000, (index) => ({ url: URL_OF(index), address: `2001:db8::${index}` })],
  ['from an IPv6 /56', 20, 1000, (index) => ({ url: URL_OF(index), address: `2001:db8:0:${index % 10}::1` })],
  ['from an IPv6 /48', 30, 1000, (index) => ({ url: URL_OF(index), address: `2001:db8:0:${index}::1` })],
  ['from unknown addresses', 10, 1000, (index) => ({ url: URL_OF(index), address: `x${index}` })],
];

for (const [what, expected, requests, placeOf] of CASES) {
  test(`${expected} requests wait ${what}, and as many again afterwards`, async (t) => {
    const waits = createRemoteWaits({ requests });
    for (let round = 0; round < 3; round += 1) {
      const { end, waiting } = fill(t, waits, placeOf);
      t.is(waiting, expected);
      await end();
    }
  });
}

test('one address leaves places for others, for the same URL too', async (t) => {
  const waits = createRemoteWaits({ requests: 1000 });
  const { end } = fill(t, waits, () => ({ url: URL_OF(0), address: '192.0.2.1' }));
  t.is(await waits.wait({ url: URL_OF(0), address: '198.51.100.1' }, () => 'read'), 'read');
  await end();
});

test('a read that fails leaves its place', async (t) => {
  const waits = createRemoteWaits({ requests: 1 });
  const place = { url: URL_OF(0), address: '192.0.2.1' };
  for (let round = 0; round < 3; round += 1)
    await t.throwsAsync(
      waits.wait(place, () => Promise.reject(new Error('down'))),
      { message: 'down' },
    );
  await t.throwsAsync(
    waits.wait(place, () => {
      throw new Error('refused');
    }),
    { message: 'refused' },
  );
  t.is(await waits.wait(place, async () => 'read'), 'read');
});
