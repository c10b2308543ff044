import { setTimeout as delay } from 'node:timers/promises';

import type { Credential, Storage } from '../../../lib/contracts/index.ts';
import { aCode, aGrant, aRefreshToken } from '../../storage/rows.ts';
import { until } from '../../harness/until.ts';
import { openStorage } from '../../adapters/host-knex.ts';
import { onEachScratchServer } from '../../adapters/scratch-server.ts';

onEachScratchServer(
  'after a restart under load no redemption is lost, and the storage reconnects',
  async (t, server) => {
    const storage = await openStorage(t, server.address, { timeout: '1000 ms' });
    const families = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => startFamily(storage, `${index}`)),
    );

    const end = new AbortController();
    const running = families.map(async (family) => {
      while (!end.signal.aborted) await rotate(storage, family);
    });
    await until(() => families.every(({ spent }) => spent.length > 0));
    await server.kill();
    await until(() => families.every(({ failures }) => failures.length > 0));
    await server.start();
    const rotated = families.map(({ spent }) => spent.length);
    await until(() => families.every(({ spent }, index) => spent.length > rotated[index]!));
    end.abort();
    await Promise.all(running);

    for (const family of families) {
      for (const failure of family.failures) t.like(failure, { code: 'ERR_STORAGE', status: 503 });
      for (const { kind: which, id } of family.spent) {
        t.not(
          (await storage.grants.findCredential(which, id))?.spentFor,
          undefined,
          'a redeemed credential stays redeemed',
        );
      }
      const current = await storage.grants.findCredential(family.current.kind, family.current.id);
      t.is(current?.credential.consumedAt, undefined);
      t.is(current?.grant.id, family.grantId);
    }
  },
);

/** A grant whose credential is exchanged repeatedly. */
interface Family {
  readonly grantId: string;
  readonly spent: Credential[];
  readonly failures: unknown[];
  current: Credential;
}

async function startFamily({ grants }: Storage, grantId: string): Promise<Family> {
  const current = aCode({ id: `${grantId}-0`, grantId });
  await grants.insert(aGrant({ id: grantId }), current);
  return { grantId, spent: [], failures: [], current };
}

/** One exchange. After a failure the client cannot know whether it happened, and sends the same credential again. */
async function rotate({ grants }: Storage, family: Family): Promise<void> {
  const { grantId, current, spent } = family;
  const successor = aRefreshToken({ id: `${grantId}-${spent.length + 1}`, grantId });
  try {
    const redemption = await grants.redeem(current, {
      successor,
      sealedSuccessor: successor.id,
    });
    const isOurs =
      redemption.outcome === 'redeemed' ||
      (redemption.outcome === 'spent' && redemption.sealedSuccessor === successor.id);
    if (!isOurs) throw new Error(`${current.id} was lost: ${redemption.outcome}`);
    spent.push(current);
    family.current = successor;
  } catch (error) {
    family.failures.push(error);
    await delay(20);
  }
}
