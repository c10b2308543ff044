// The options of devices(): each mistake is an error that names the option and the remedy.
import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';

const DURATION = "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least";

const WRONG: readonly (readonly [options: unknown, place: string, remedy: string])[] = [
  [null, 'devices()', 'pass an object with some of lifetime, interval, userCodes, requests'],
  ['yes', 'devices()', 'pass an object with some of lifetime, interval, userCodes, requests'],
  [
    { ttl: 5 },
    'devices({ ttl })',
    'there is no such option; the options are lifetime, interval, userCodes, requests',
  ],
  [{ lifetime: 59 }, 'devices({ lifetime })', `${DURATION} 60 s`],
  [{ lifetime: '1 hour' }, 'devices({ lifetime })', 'give at most 1800 s'],
  [{ interval: 0 }, 'devices({ interval })', `${DURATION} 1 s`],
  [{ interval: 61 }, 'devices({ interval })', 'give at most 60 s'],
  [
    { userCodes: { perDevice: 5 } },
    'devices({ userCodes.perDevice })',
    'there is no such option; the options are perUser, perAddress, window',
  ],
  [{ requests: { perClient: 0 } }, 'devices({ requests.perClient })', 'give a whole number of at least 1'],
  [
    { requests: true },
    'devices({ requests })',
    'pass an object with some of perAddress, perClient, window, or false for none',
  ],
];

for (const [options, place, remedy] of WRONG) {
  test(`devices(${JSON.stringify(options)}) is refused`, (t) => {
    t.throws(() => devices(options as object), { code: 'ERR_CONFIG', message: `${place}: ${remedy}` });
  });
}

test('limits can be switched off', (t) => {
  t.is(devices({ userCodes: false, requests: false }).name, 'devices');
});
