import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';

const HOUR = 3600;

test.serial(
  'a session is stored when its end moves by hours, and not for each client that uses it',
  async (t) => {
    const storage = memoryStorage();
    const ends: number[] = [];
    for (const method of ['insert', 'update'] as const) {
      const write = storage.sessions[method].bind(storage.sessions) as (session: object) => Promise<unknown>;
      Object.assign(storage.sessions, {
        async [method](session: { expiresAt: number }) {
          ends.push(session.expiresAt);
          return write(session);
        },
      });
    }
    await using platform = await startPlatform({ storage, tokens: { lifetimes: { session: '10 days' } } });
    const app = await platform.registerApp();
    const other = await platform.registerApp({ name: 'Other', firstParty: true });
    const browser = new Browser();
    await authorize(platform, app, { browser });

    const written = ends.length;
    for (const [hours, of, writes] of [
      [0, app, 0],
      [0, other, 0],
      [2, app, 0],
      [1, app, 1],
    ] as const) {
      passTime(hours * HOUR);
      const { location } = await browser.get(authorizeUrl(platform, of));
      t.true(location?.searchParams.has('code'));
      t.is(ends.length, written + writes);
    }
    t.true(ends.at(-1)! - ends.at(-2)! >= 3 * HOUR);
  },
);
