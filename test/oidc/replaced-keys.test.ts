import { setTimeout as delay } from 'node:timers/promises';

import test from '../harness/test.ts';
import { createAdministration } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { StoredKey } from '../../lib/contracts/index.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { passTime } from '../harness/clock.ts';
import { BrowserOfCluster, clusterOn } from '../harness/cluster.ts';
import { authorizeUrl, runCodeFlow } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { until } from '../harness/until.ts';
import { cookieSignature } from './cookie-signature.ts';

const DAY = 86_400;
const SESSION = 'gatehouse_session_1';

async function rotateByCommand(address: string): Promise<void> {
  const operator = createAdministration({ storage: knexStorage(address) });
  await operator.signingKeys.rotate();
  await operator.close();
}

function valueOf(browser: BrowserOfCluster, name: string): string {
  return browser.cookies.find((cookie) => cookie.name === name)!.value;
}

/** Whether a browser is signed in at a node, and its cookie's signature afterwards. */
async function visit(
  browser: BrowserOfCluster,
  node: Platform,
  app: RegisteredApp,
): Promise<{ signedIn: boolean; signature: string }> {
  const { location } = await browser.sendTo(node).get(authorizeUrl(node, app));
  return {
    signedIn: location?.searchParams.has('code') ?? false,
    signature: valueOf(browser, `${SESSION}.sig`),
  };
}

/** Whether a node accepts a session cookie with the signature of a key. */
async function accepts(
  node: Platform,
  app: RegisteredApp,
  session: string,
  { material }: StoredKey,
): Promise<boolean> {
  const { k } = JSON.parse(material) as { k: string };
  const signature = cookieSignature(k, `${SESSION}=${session}`);
  const { headers, status } = await send(node.reach(authorizeUrl(node, app)), {
    headers: { cookie: `${SESSION}=${session}; ${SESSION}.sig=${signature}` },
    redirect: 'manual',
  });
  return status === 303 && headers.get('location')!.startsWith(app.redirectUri);
}

test.serial(
  'a cookie key is replaced on two nodes, and what the former one signed is accepted for as long as it lives',
  async (t) => {
    const address = `sqlite:${temporaryFile()}`;
    const cluster = clusterOn(t, address);
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    const [here, there] = [await cluster.start(), await cluster.start()];
    const nodes = [here, there] as const;
    const app = await here.registerApp({ firstParty: true });
    const asked = await here.registerApp({ name: 'Timetable', redirectUris: ['https://timetable.example/'] });
    const [former] = (await storage.keys.list('cookie')) as [StoredKey];
    passTime(31 * DAY);

    // Begun with the former key: a session and the page of a consent.
    const browser = new BrowserOfCluster(here);
    await runCodeFlow(here, app, { browser });
    const { signature } = await visit(browser, here, app);
    const consent = await browser.open(authorizeUrl(here, asked));

    await here.auth.signingKeys.rotate();
    const [retiring, next] = (await storage.keys.list('cookie')) as [StoredKey, StoredKey];
    t.is(retiring.id, former.id);
    t.is(retiring.retiresAt, next.activeAt + 180 * DAY);
    t.true(next.activeAt >= next.createdAt + 60);

    // It is accepted everywhere before it signs anywhere.
    await until(async () => accepts(there, app, valueOf(browser, SESSION), next));
    t.is((await visit(browser, here, app)).signature, signature);

    // The first node that signs with the new key, and the other one, which may not do so yet, accept each other's cookies.
    passTime(61);
    const signatures = new Map<Platform, string>();
    while (nodes.some((node) => (signatures.get(node) ?? signature) === signature)) {
      for (const node of nodes) {
        const { signedIn, signature: given } = await visit(browser, node, app);
        t.true(signedIn);
        signatures.set(node, given);
      }
      await delay(20);
    }
    for (const node of nodes)
      for (const key of [former, next]) t.true(await accepts(node, app, valueOf(browser, SESSION), key));

    const agreed = await browser.sendTo(there).submit(consent, 'Authorize');
    t.is((await browser.follow(agreed)).location?.origin, 'https://timetable.example');

    // Not more often than every 30 days.
    await there.auth.signingKeys.rotate();
    await rotateByCommand(address);
    t.is((await storage.keys.list('cookie')).length, 2);

    passTime(179 * DAY);
    const later = new BrowserOfCluster(here);
    await runCodeFlow(here, app, { browser: later });
    const session = valueOf(later, SESSION);
    for (const node of nodes) t.true(await accepts(node, app, session, former));
    passTime(DAY);
    for (const node of nodes) await until(async () => !(await accepts(node, app, session, former)));
    for (const node of nodes) t.true(await accepts(node, app, session, next));
    await here.auth.prune();
    t.deepEqual(
      (await storage.keys.list('cookie')).map(({ id }) => id),
      [next.id],
    );

    // The second time, by the command.
    await rotateByCommand(address);
    const [, third] = (await storage.keys.list('cookie')) as [StoredKey, StoredKey];
    for (const node of nodes) await until(async () => accepts(node, app, session, third));
    passTime(61);
    for (const node of nodes) t.true((await visit(later, node, app)).signedIn);
  },
);
