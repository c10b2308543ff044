// The options of personalTokens(): each mistake is an error that names the option and the remedy.
import test from '../harness/test.ts';
import { personalTokens } from 'koa-gatehouse';

const DURATION = "give seconds, or a number and a unit such as '1 hour' or '30 days'; at least";

const WRONG: readonly (readonly [options: unknown, place: string, remedy: string])[] = [
  ['yes', 'personalTokens()', 'pass an object with some of maxLifetime, perUser, loginAge, path'],
  [{ maxLifetime: '2 years' }, 'personalTokens({ maxLifetime })', 'give at most 31536000 s'],
  // Users choose a number of days.
  ...['23 hours', 86_399, 0].map(
    (maxLifetime) => [{ maxLifetime }, 'personalTokens({ maxLifetime })', `${DURATION} 86400 s`] as const,
  ),
];

for (const [options, place, remedy] of WRONG) {
  test(`personalTokens(${JSON.stringify(options)}) is refused`, (t) => {
    t.throws(() => personalTokens(options as object), { code: 'ERR_CONFIG', message: `${place}: ${remedy}` });
  });
}
