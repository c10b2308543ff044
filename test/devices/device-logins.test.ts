import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';
import type { Interactions } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { pages } from 'koa-gatehouse/interactions';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { people, signedIn } from '../harness/platform.ts';
import type { Person, Platform } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import {
  answer,
  beginOn,
  enter,
  errorOf,
  poll,
  pollLater,
  registerDevice,
  startDevicePlatform,
} from './device.ts';
import type { DeviceFlow } from '../../lib/features/devices/types.ts';
import { startTwo } from '../harness/cluster.ts';
import { endWith } from '../harness/serve.ts';
import type { ExecutionContext } from 'ava';

/** Pages of a host that approves devices for Ann without looking who is signed in. */
const trusting =
  (approve: DeviceFlow['approve']): Interactions =>
  (flow) => {
    const own = pages({ brand: { name: 'Acme Schools' } })(flow);
    return {
      ...own,
      async middleware(ctx, next) {
        const userCode = /^\/oauth\/device\/trusting\/(.+)$/.exec(ctx.path)?.[1];
        if (userCode === undefined) return own.middleware(ctx, next);
        ctx.body = String(await approve(ctx, { id: '1' }, userCode));
        return undefined;
      },
    };
  };

test.serial('approve() refuses a user who is not the one who is signed in', async (t) => {
  const feature = devices();
  await using platform: Platform = await startDevicePlatform({
    features: [feature],
    interactions: trusting(async (...given) =>
      platform.auth.featureMembers(feature).devices.approve(...given),
    ),
  });
  const app = await registerDevice(platform);
  const { device_code: code, user_code: userCode } = await beginOn(platform, app);
  const url = platform.url(`/oauth/device/trusting/${userCode}`);
  const bob = await signedIn(platform, 'bob@school.example', 'battery staple');
  for (const browser of [new Browser(), bob]) {
    const { heading, status } = await browser.get(url);
    t.deepEqual([status, heading], [400, 'This sign-in is no longer open']);
  }
  const ann = await signedIn(platform);
  t.notRegex((await ann.open(platform.url('/account/apps'))).text, /School CLI/, 'no consent was stored');
  t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'authorization_pending']);
  t.is((await ann.get(url)).html, 'true');
  t.deepEqual(errorOf(await pollLater(platform, app, code)), [200, undefined]);
});

test.serial('approve() refuses a user who is not the one who is logged in at the host', async (t) => {
  let current: Person | undefined;
  const feature = devices();
  await using platform: Platform = await startDevicePlatform({
    features: [feature],
    interactions: trusting(async (...given) =>
      platform.auth.featureMembers(feature).devices.approve(...given),
    ),
    login: { currentUser: () => current },
  });
  const app = await registerDevice(platform);
  const { device_code: code, user_code: userCode } = await beginOn(platform, app);
  const url = platform.url(`/oauth/device/trusting/${userCode}`);
  const [ann, bob] = platform.users.all;
  const browser = new Browser();
  for (const one of [undefined, bob]) {
    current = one;
    t.is((await browser.get(url)).status, 400);
  }
  // The user store does not find this one.
  current = { ...ann!, id: 'unknown' };
  t.is((await browser.submit(await enter(platform, browser, userCode), 'Connect')).status, 400);
  current = ann;
  const asked = await enter(platform, browser, userCode);
  current = undefined;
  t.is((await browser.submit(asked, 'Connect')).status, 400, 'a logout there ends the login here');
  t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'authorization_pending']);
  current = ann;
  t.is((await browser.get(url)).html, 'true');
  t.deepEqual(errorOf(await pollLater(platform, app, code)), [200, undefined]);
  const { user_code: next } = await beginOn(platform, app);
  t.is((await answer(platform, browser, next)).heading, 'Your device is connected');
});

/** Two nodes on one database, at a host whose own login no row of the storage stands for. `pause` is of the node `here`. */
async function startNodes(t: ExecutionContext, address: string) {
  const { pause, storage } = pausable(knexStorage(address));
  const users = people();
  const [ann] = users.all;
  const given = { limits: { attempts: false }, users, login: { currentUser: () => ann } } as const;
  const nodes = await startTwo([storage, knexStorage(address)], async (node) =>
    endWith(t, await startDevicePlatform({ ...node, ...given })),
  );
  return { ...nodes, users, pause, app: await registerDevice(nodes.here) };
}

onEachDatabaseInSeries(
  'a user who is ended between the check of the login and the grant has authorized nothing',
  async (t, _, address) => {
    const nodes = await startNodes(t, address);
    const { app, here, pause, there } = nodes;
    for (const step of ['consents.add', 'deviceCodes.approve']) {
      const { device_code: code, user_code: userCode } = await beginOn(here, app);
      const browser = new Browser();
      const asked = await enter(here, browser, userCode);
      const { reached, resume } = pause(step);
      const approving = browser.submit(asked, 'Connect');
      await reached;
      await there.auth.revoke({ userId: '1' });
      resume();
      const refused = await approving;
      t.true(refused.status >= 400, step);
      for (const node of [here, there]) {
        const { body } = await pollLater(node, app, code);
        // Nothing is stored, so that the device waits on.
        t.is(body?.['error'], 'authorization_pending', step);
      }
      const again = await beginOn(here, app);
      t.is((await answer(there, browser, again.user_code)).heading, 'Your device is connected');
      t.is((await pollLater(here, app, again.device_code)).status, 200, 'a later login is not ended');
    }
  },
);

onEachDatabaseInSeries(
  'a user who is removed while the login is checked authorizes nothing',
  async (t, _, address) => {
    const nodes = await startNodes(t, address);
    const { app, here, pause, there, users } = nodes;
    const { device_code: code, user_code: userCode } = await beginOn(here, app);
    const browser = new Browser();
    const asked = await enter(here, browser, userCode);
    const { reached, resume } = pause('revocations.latestSequence');
    const approving = browser.submit(asked, 'Connect');
    await reached;
    const [ann] = users.all.splice(0, 1);
    await there.auth.revoke({ userId: '1' });
    resume();
    t.is((await approving).status, 400);
    for (const node of [here, there])
      t.deepEqual(errorOf(await pollLater(node, app, code)), [400, 'authorization_pending']);
    users.all.unshift(ann!);
    t.is((await answer(there, browser, userCode)).heading, 'Your device is connected');
    t.is((await pollLater(here, app, code)).status, 200);
  },
);
