import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { passTime } from '../harness/clock.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import type { PausableStorage } from '../harness/storage.ts';
import {
  answer,
  beginOn,
  enter,
  errorOf,
  poll,
  pollLater,
  registerDevice,
  signedIn,
  startDevicePlatform,
} from './device.ts';

const POLLS = 100;

/** Two nodes on one database, and a device. */
interface Nodes extends AsyncDisposable {
  readonly here: Platform;
  readonly there: Platform;
  readonly app: RegisteredApp;
  /** Of the node `here`. */
  readonly pause: PausableStorage['pause'];
}

async function startNodes(address: string): Promise<Nodes> {
  const { pause, storage } = pausable(knexStorage(address));
  const given = { limits: { attempts: false } } as const;
  const here = await startDevicePlatform({ storage, ...given });
  const { origin: issuer, users } = here;
  const there = await startDevicePlatform({ storage: knexStorage(address), issuer, users, ...given });
  return {
    here,
    there,
    pause,
    app: await registerDevice(here),
    async [Symbol.asyncDispose]() {
      await Promise.all([here, there].map(async (node) => node[Symbol.asyncDispose]()));
    },
  };
}

/** A device begins, and its user connects it on the node `here`, which waits where it would store the answer. */
async function pauseApproval({ app, here, pause }: Nodes) {
  const { device_code: code, user_code: userCode } = await beginOn(here, app);
  const browser = await signedIn(here);
  const asked = await enter(here, browser, userCode);
  const { reached, resume } = pause('deviceCodes.approve');
  const approving = browser.submit(asked, 'Connect');
  await reached;
  return { approving, browser, code, resume, userCode };
}

onEachDatabaseInSeries(
  'a device begins on one node, is approved on the other and polls both',
  async (t, database, address) => {
    await using nodes = await startNodes(address);
    const { app, here, there } = nodes;
    const { device_code: code, user_code: userCode } = await beginOn(here, app, { scope: 'schools:read' });
    t.deepEqual(errorOf(await poll(here, app, code)), [400, 'authorization_pending']);
    t.deepEqual(errorOf(await poll(there, app, code)), [400, 'slow_down'], 'the nodes count together');
    t.deepEqual(errorOf(await pollLater(there, app, code)), [400, 'authorization_pending']);
    t.is((await answer(there, await signedIn(there), userCode)).heading, 'Your device is connected');
    const { body } = await pollLater(here, app, code);
    t.is(body?.['scope'], 'schools:read');

    const contents = JSON.stringify([...(await contentsOf(database, address))]);
    for (const secret of [code, userCode, userCode.replace('-', ''), body?.['refresh_token'] as string])
      t.false(contents.includes(secret));
  },
);

onEachDatabaseInSeries(
  `of ${POLLS} polls at once on two nodes one gets the tokens`,
  async (t, _, address) => {
    await using nodes = await startNodes(address);
    const { app, here, there } = nodes;
    const { device_code: code, user_code: userCode } = await beginOn(here, app);
    const pending = await pollAll(nodes, code);
    t.is(pending.filter(([, error]) => error === 'authorization_pending').length, 1);
    t.is(pending.filter(([, error]) => error === 'slow_down').length, POLLS - 1);

    await answer(there, await signedIn(there), userCode);
    passTime(5);
    const polls = await pollAll(nodes, code);
    t.is(polls.filter(([status]) => status === 200).length, 1);
    t.is(polls.filter(([, error]) => error === 'slow_down').length, POLLS - 1);
  },
);

async function pollAll({ app, here, there }: Nodes, code: string): Promise<ReturnType<typeof errorOf>[]> {
  return Promise.all(
    Array.from({ length: POLLS }, async (_, index) =>
      errorOf(await poll(index % 2 ? here : there, app, code)),
    ),
  );
}

onEachDatabaseInSeries(
  'of an approval and a refusal at once on two nodes one counts',
  async (t, _, address) => {
    await using nodes = await startNodes(address);
    const { app, here, there } = nodes;
    const ann = await signedIn(here);
    const bob = await signedIn(there, 'bob@school.example', 'battery staple');
    for (let round = 0; round < 5; round += 1) {
      const { device_code: code, user_code: userCode } = await beginOn(here, app);
      const [hers, his] = [await enter(here, ann, userCode), await enter(there, bob, userCode)];
      const answers = await Promise.all([ann.submit(hers, 'Connect'), bob.submit(his, 'Deny')]);
      t.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [303, 422],
      );
      const isApproved = answers[0]?.status === 303;
      t.deepEqual(
        errorOf(await poll(there, app, code)),
        isApproved ? [200, undefined] : [400, 'access_denied'],
      );
    }
  },
);

/** What ends a device that was approved, and the response to its next poll. */
const ENDS: Readonly<
  Record<
    string,
    readonly [(nodes: Nodes, browser: Awaited<ReturnType<typeof signedIn>>) => Promise<unknown>, string]
  >
> = {
  'a user who disconnects the app': [
    async ({ app, here }, browser) => {
      const page = await browser.open(here.url(`/account/apps/${app.client.id}/disconnect`));
      await browser.submit(page, 'Disconnect');
    },
    'invalid_grant',
  ],
  'auth.revoke({ user })': [async ({ there }) => there.auth.revoke({ user: '1' }), 'invalid_grant'],
  'auth.revoke({ client })': [
    async ({ app, there }) => there.auth.revoke({ client: app.client.id }),
    'invalid_grant',
  ],
  'a client that is disabled': [
    async ({ app, there }) => {
      await there.auth.clients.disable(app.client.id);
      passTime(6);
    },
    'invalid_client',
  ],
  'a client that is deleted': [
    async ({ app, there }) => {
      await there.auth.clients.delete(app.client.id);
      passTime(6);
    },
    'invalid_client',
  ],
};

for (const [name, [end, error]] of Object.entries(ENDS)) {
  onEachDatabaseInSeries(
    `${name} ends an approval that the device has not fetched`,
    async (t, _, address) => {
      await using nodes = await startNodes(address);
      const { app, here, there } = nodes;
      const { device_code: code, user_code: userCode } = await beginOn(here, app);
      const browser = await signedIn(here);
      await answer(here, browser, userCode);
      await end(nodes, browser);
      for (const node of [here, there]) t.is(errorOf(await pollLater(node, app, code))[1], error);
    },
  );

  onEachDatabaseInSeries(`${name} wins against an approval under way`, async (t, _, address) => {
    await using nodes = await startNodes(address);
    const { app, there } = nodes;
    const { approving, browser, code, resume } = await pauseApproval(nodes);
    await end(nodes, browser);
    resume();
    const { status } = await approving;
    t.true(status === 303 || status === 422, String(status));
    const [, after] = errorOf(await pollLater(there, app, code));
    t.true(after === error || (status === 422 && after === 'authorization_pending'), String(after));
  });
}

onEachDatabaseInSeries('a logout wins against an approval under way', async (t, _, address) => {
  await using nodes = await startNodes(address);
  const { app, here, there } = nodes;
  const { approving, browser, code, resume, userCode } = await pauseApproval(nodes);
  await browser.submit(await browser.open(here.url('/oauth/logout')), 'Sign out');
  resume();
  t.is((await approving).status, 422);
  t.deepEqual(errorOf(await poll(there, app, code)), [400, 'authorization_pending']);
  // Nobody has answered, so the user can, after a new login.
  t.is((await answer(here, await signedIn(here), userCode)).heading, 'Your device is connected');
});

onEachDatabaseInSeries(
  'a request from before auth.revoke({ client }) cannot be approved',
  async (t, _, address) => {
    await using nodes = await startNodes(address);
    const { app, here, there } = nodes;
    const { user_code: userCode } = await beginOn(here, app);
    const browser = await signedIn(here);
    const asked = await enter(here, browser, userCode);
    await there.auth.revoke({ client: app.client.id });
    t.is((await browser.submit(asked, 'Connect')).status, 422);
    t.is((await enter(here, browser, userCode)).status, 422);
  },
);
