import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../../adapters/databases.ts';
import { startProcess } from '../../oidc/nodes.ts';
import { signedIn } from '../../harness/platform.ts';
import {
  answer,
  beginOn,
  errorOf,
  poll,
  pollLater,
  registerDevice,
  startDevicePlatform,
} from '../../devices/device.ts';
import { exchangeRefreshToken } from '../../harness/tokens.ts';

// The clock of the killed node is not set ahead, so all tests of this file together may pass less than `tokens.refreshGrace`.
onEachDatabaseInSeries(
  'after a node was killed between the redemption and its response, the device polls again',
  async (t, _, address) => {
    await using platform = await startDevicePlatform({ storage: knexStorage(address) });
    const app = await registerDevice(platform);
    const { device_code: code, user_code: userCode } = await beginOn(platform, app);
    await answer(platform, await signedIn(platform), userCode);
    await using killed = startProcess();
    const settings = { address, issuer: platform.origin, devices: true } as const;
    const { origin } = await killed.open({ ...settings, kill: { redeemed: 1 } });
    await t.throwsAsync(poll({ url: (path) => new URL(path, origin) }, app, code));
    t.is(await killed.end, 'SIGKILL');

    const again = await pollLater(platform, app, code);
    t.is(again.status, 200);
    const { status } = await exchangeRefreshToken(platform, app, again.body?.['refresh_token']);
    t.is(status, 200);
    t.deepEqual(errorOf(await pollLater(platform, app, code)), [400, 'invalid_grant']);
  },
);
