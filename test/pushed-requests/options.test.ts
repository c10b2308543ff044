// The options of pushedRequests(): each mistake is an error that names the option and the remedy.
import test from '../harness/test.ts';
import { pushedRequests } from 'koa-gatehouse';

const DURATION = "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least";

const WRONG: readonly (readonly [options: unknown, place: string, remedy: string])[] = [
  [null, 'pushedRequests()', 'pass an object with some of lifetime, required, requests'],
  [
    { ttl: 5 },
    'pushedRequests({ ttl })',
    'there is no such option; the options are lifetime, required, requests',
  ],
  [{ lifetime: 9 }, 'pushedRequests({ lifetime })', `${DURATION} 10 s`],
  [{ lifetime: '11 minutes' }, 'pushedRequests({ lifetime })', 'give at most 600 s'],
  [
    { required: 'yes' },
    'pushedRequests({ required })',
    'pass true or false, or a function (client) => boolean',
  ],
  [
    { requests: { perClient: 0 } },
    'pushedRequests({ requests.perClient })',
    'give a whole number of at least 1',
  ],
  [
    { requests: true },
    'pushedRequests({ requests })',
    'pass an object with some of perAddress, perClient, window, or false for none',
  ],
];

for (const [options, place, remedy] of WRONG) {
  test(`pushedRequests(${JSON.stringify(options)}) is refused`, (t) => {
    t.throws(() => pushedRequests(options as object), { code: 'ERR_CONFIG', message: `${place}: ${remedy}` });
  });
}

test('the limits can be switched off', (t) => {
  t.is(pushedRequests({ requests: false }).name, 'pushedRequests');
});
