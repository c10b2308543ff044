import { passTime } from '../harness/clock.ts';
import test from 'ava';
import type { StorageTypes } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';

const HOUR = 3600;

test.serial(
  'a session is stored when its end moves by hours, and not for each client that uses it',
  async (t) => {
    const storage = memoryStorage();
    const ends: number[] = [];
    const counting = {
      ...storage,
      sessions: {
        ...storage.sessions,
        async insert(session: StorageTypes.StoredSession) {
          ends.push(session.expiresAt);
          await storage.sessions.insert(session);
        },
        async update(session: Pick<StorageTypes.StoredSession, 'id' | 'payload' | 'expiresAt'>) {
          ends.push(session.expiresAt);
          return storage.sessions.update(session);
        },
      },
    };
    await using platform = await startPlatform({
      storage: counting,
      tokens: { lifetimes: { session: '10 days' } },
    });
    const app = await platform.registerApp();
    const browser = new Browser(platform.reach);
    await authorize(platform, app, { browser });

    const written = ends.length;
    const { location } = await browser.get(authorizeUrl(platform, app));
    t.true(location?.searchParams.has('code'));
    t.is(ends.length, written);

    const other = await platform.registerApp({ name: 'Other', firstParty: true });
    t.true((await browser.get(authorizeUrl(platform, other))).location?.searchParams.has('code'));
    t.is(ends.length, written);

    passTime(2 * HOUR);
    await browser.get(authorizeUrl(platform, app));
    t.is(ends.length, written);

    passTime(HOUR);
    await browser.get(authorizeUrl(platform, app));
    t.is(ends.length, written + 1);
    t.true(ends.at(-1)! - ends.at(-2)! >= 3 * HOUR);
  },
);
