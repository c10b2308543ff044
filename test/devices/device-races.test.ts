import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { contentsOf } from '../adapters/contents.ts';
import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import type { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { signedIn, signOut } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
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
import { startTwo } from '../harness/cluster.ts';
import { endWith } from '../harness/serve.ts';
import type { ExecutionContext } from 'ava';

const POLLS = 40;

type Nodes = Awaited<ReturnType<typeof startNodes>>;

/** Two nodes on one database. `pause` is of the node `here`. */
async function startNodes(t: ExecutionContext, address: string) {
  const { pause, storage } = pausable(knexStorage(address));
  const nodes = await startTwo([storage, knexStorage(address)], async (node) =>
    endWith(t, await startDevicePlatform({ limits: { attempts: false }, ...node })),
  );
  return { ...nodes, pause };
}

/** A device begins, and its user connects it on the node `here`, which waits where it would store the answer. */
async function pauseApproval({ here, pause }: Nodes, app: RegisteredApp) {
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
    const nodes = await startNodes(t, address);
    const { here, there } = nodes;
    const app = await registerDevice(here);
    const { device_code: code, user_code: userCode } = await beginOn(here, app, { scope: 'schools:read' });
    const pending = await pollAll(nodes, app, code);
    t.is(pending.filter(([, error]) => error === 'authorization_pending').length, 1);
    t.is(pending.filter(([, error]) => error === 'slow_down').length, POLLS - 1, 'the nodes count together');

    await answer(there, await signedIn(there), userCode);
    passTime(5);
    const polls = await pollAll(nodes, app, code);
    t.is(polls.filter(([status]) => status === 200).length, 1);
    t.is(polls.filter(([, error]) => error === 'slow_down').length, POLLS - 1);
    const { body } = await pollLater(here, app, code);
    t.is(body?.['scope'], 'schools:read');

    const contents = JSON.stringify([...(await contentsOf(database, address))]);
    for (const secret of [code, userCode, userCode.replace('-', ''), String(body?.['refresh_token'])])
      t.false(contents.includes(secret));
  },
);

async function pollAll(
  { here, there }: Nodes,
  app: RegisteredApp,
  code: string,
): Promise<ReturnType<typeof errorOf>[]> {
  return Promise.all(
    Array.from({ length: POLLS }, async (_, index) =>
      errorOf(await poll(index % 2 ? here : there, app, code)),
    ),
  );
}

onEachDatabaseInSeries(
  'of an approval and a refusal at once on two nodes one counts',
  async (t, _, address) => {
    const nodes = await startNodes(t, address);
    const { here, there } = nodes;
    const app = await registerDevice(here);
    const ann = await signedIn(here);
    const bob = await signedIn(there, 'bob@school.example', 'battery staple');
    for (let round = 0; round < 3; round += 1) {
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
const ENDS: readonly (readonly [
  string,
  (nodes: Nodes, app: RegisteredApp, browser: Browser) => Promise<unknown>,
  string,
])[] = [
  [
    'a user who disconnects the app',
    async ({ here }, app, browser) => {
      const page = await browser.open(here.url(`/account/apps/${app.client.id}/revoke`));
      await browser.submit(page, 'Disconnect');
    },
    'invalid_grant',
  ],
  ['auth.revoke({ userId })', async ({ there }) => there.auth.revoke({ userId: '1' }), 'invalid_grant'],
  [
    'auth.revoke({ clientId })',
    async ({ there }, app) => there.auth.revoke({ clientId: app.client.id }),
    'invalid_grant',
  ],
  [
    'a client that is disabled',
    async ({ there }, app) => there.auth.clients.disable(app.client.id),
    'invalid_client',
  ],
  [
    'a client that is deleted',
    async ({ there }, app) => there.auth.clients.delete(app.client.id),
    'invalid_client',
  ],
];

onEachDatabaseInSeries(
  'what ends a device ends an approval that it has not fetched, and wins against one under way',
  async (t, _, address) => {
    const nodes = await startNodes(t, address);
    const { here, there } = nodes;
    for (const [name, end, error] of ENDS) {
      const app = await registerDevice(here);
      const approved = await beginOn(here, app);
      const browser = await signedIn(here);
      await answer(here, browser, approved.user_code);
      await end(nodes, app, browser);
      // Longer than tokens.revocationLag.
      passTime(6);
      for (const node of [here, there])
        t.is(errorOf(await pollLater(node, app, approved.device_code))[1], error, name);

      const other = await registerDevice(here);
      const under = await pauseApproval(nodes, other);
      await end(nodes, other, under.browser);
      under.resume();
      const { status } = await under.approving;
      t.true(status === 303 || status === 422, `${name}: ${status}`);
      passTime(6);
      const [, after] = errorOf(await poll(there, other, under.code));
      t.true(
        after === error || (status === 422 && after === 'authorization_pending'),
        `${name}: ${String(after)}`,
      );
    }
  },
);

onEachDatabaseInSeries(
  'a logout wins against an approval under way, and a request from before auth.revoke({ clientId }) cannot be approved',
  async (t, _, address) => {
    const nodes = await startNodes(t, address);
    const { here, there } = nodes;
    const app = await registerDevice(here);
    const { approving, browser, code, resume, userCode } = await pauseApproval(nodes, app);
    await signOut(here, browser);
    resume();
    t.is((await approving).status, 422);
    t.deepEqual(errorOf(await poll(there, app, code)), [400, 'authorization_pending']);
    // Nobody has answered, so the user can, after a new login.
    const again = await signedIn(here);
    t.is((await answer(here, again, userCode)).heading, 'Your device is connected');

    const { user_code: other } = await beginOn(here, app);
    const asked = await enter(here, again, other);
    await there.auth.revoke({ clientId: app.client.id });
    t.is((await again.submit(asked, 'Connect')).status, 422);
    t.is((await enter(here, again, other)).status, 422);
  },
);
