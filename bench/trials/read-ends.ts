import { setTimeout as delay } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { DAY } from '../../lib/contracts/duration.ts';
import type { End } from '../../lib/contracts/ends.ts';
import { createEndReader } from '../../lib/outbox/end-reader.ts';
import type { Finding } from './report.ts';

const READER = 'trial';

/** A reader of the ends of grants, which goes on whatever happens to the database. */
export interface ReadingEnds {
  /** Reads the rest. Resolves to what is lost of the ends of grants whose revocation was answered. */
  check(this: void, grantIds: readonly string[]): Promise<Finding>;
}

export async function readEnds(database: string): Promise<ReadingEnds> {
  const storage = knexStorage(database);
  const { ends, grants } = storage;
  const found = new Set<string>();
  let failures = 0;
  const over = new AbortController();
  const handle = async (taken: readonly End[]): Promise<void> => {
    for (const { value } of taken) found.add(value);
    await ends.done(taken);
  };
  const reader = createEndReader(ends, { name: READER, kinds: ['grant'], handle });
  await reader.register();

  async function run(): Promise<void> {
    for (; !over.signal.aborted; await delay(100)) await reader.read().catch(() => (failures += 1));
  }

  const running = run();
  return {
    async check(grantIds) {
      over.abort();
      await running;
      const duringFailover = found.size;
      // Also what is leased: of some takings it is not known whether they last.
      for (;;) {
        const at = Math.floor(Date.now() / 1000) + DAY;
        const taken = await ends.take(READER, { now: at, leasedUntil: at + 60, limit: 256 });
        if (taken.length === 0) break;
        await handle(taken);
      }
      const lost = grantIds.filter((id) => !found.has(id));
      const early: string[] = [];
      for (const id of found) if ((await grants.find(id))?.revokedAt === undefined) early.push(id);
      await storage.close();
      return {
        what: 'ends of these grants, each read',
        count: grantIds.length,
        broken: [
          ...lost.map(() => 'an end is lost'),
          ...early.map(() => 'an end was read of a grant that is not revoked'),
        ],
        note: `${duringFailover} read meanwhile, ${found.size - duringFailover} afterwards; ${failures} failures of the reader`,
      };
    },
  };
}
