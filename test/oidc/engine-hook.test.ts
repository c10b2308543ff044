import test from 'ava';
import type { Provider } from 'oidc-provider';

import { runCodeFlow, startPlatform } from '../harness/platform.ts';

test('the option engine is called for each engine, also when the signing keys change', async (t) => {
  const made: Provider[] = [];
  let granted = 0;
  await using platform = await startPlatform({
    engine(provider) {
      made.push(provider);
      provider.on('grant.success', () => {
        granted += 1;
      });
    },
  });
  const app = await platform.registerApp({ firstParty: true });
  t.is((await runCodeFlow(platform, app)).status, 200);
  t.deepEqual([made.length, granted], [1, 1]);
  t.is(platform.auth.provider, made[0]!);

  await platform.auth.keys.rotate({ after: 0 });
  t.is(made.length, 2);
  t.is(platform.auth.provider, made[1]!);
  t.is((await runCodeFlow(platform, app)).status, 200);
  t.is(granted, 2);
});

test('an option engine that is not a function is refused', async (t) => {
  const engine = 'grant.success' as unknown as (provider: Provider) => void;
  const error = await t.throwsAsync(startPlatform({ engine }), { code: 'ERR_CONFIG' });
  t.true(error?.message.includes('engine'), error?.message);
});
