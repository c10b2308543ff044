import test from '../harness/test.ts';

import { createLastUses } from '../../lib/clients/last-use.ts';
import { recordingLogger } from '../harness/platform.ts';

const MOST = 10_000;

/** A storage that records which secrets and apps were used; `fail` is called before each write. */
function recording(fail: () => void = () => {}): {
  readonly storage: Parameters<typeof createLastUses>[0];
  readonly touched: string[];
} {
  const touched: string[] = [];
  const touch = async (first: string, second: string): Promise<void> => {
    fail();
    touched.push(`${first} ${second}`);
  };
  const grants = { touch: async (id: string) => touch('grant', id) };
  const stores = { clients: { touchSecret: touch }, consents: { touch }, grants };
  return { storage: stores as unknown as Parameters<typeof createLastUses>[0], touched };
}

/** A grant of a user for the app. */
function grantOf(userId: string, id = userId): { id: string; userId: string; clientId: string } {
  return { id, userId, clientId: 'app' };
}

const now = (): number => Math.floor(Date.now() / 1000);

function lastUses(storage: Parameters<typeof createLastUses>[0]): ReturnType<typeof createLastUses> {
  return createLastUses(storage, { logger: recordingLogger() });
}

test('each use is written once an hour in the order of the uses, and for a secret once a minute on all nodes', async (t) => {
  const { storage, touched } = recording();
  const uses = lastUses(storage);
  for (let time = 0; time < 3; time += 1) {
    uses.secretUsed('app', { id: 'secret', lastUsedAt: undefined });
    uses.appUsed(grantOf('ann'), now());
    uses.appUsed(grantOf('bob'), now());
  }
  uses.secretUsed('app', { id: 'recorded by another node', lastUsedAt: now() });
  uses.secretUsed('app', { id: 'earlier', lastUsedAt: now() - 61 });
  // A grant that is new is none that has to be recorded.
  for (const id of ['phone', 'laptop', 'phone']) uses.appUsed(grantOf('ann', id), now() - 3600);
  uses.appUsed(grantOf('ann', 'new'), now() - 3500);
  t.deepEqual(touched, [], 'no request waits for them');
  await uses.written();
  const written = ['app secret', 'ann app', 'bob app', 'app earlier', 'grant phone', 'grant laptop'];
  t.deepEqual(touched, written);
  uses.appUsed(grantOf('ann'), now());
  await uses.written();
  t.deepEqual(touched, written);
});

test('at most 10,000 uses wait, and a use that did not is recorded later', async (t) => {
  const { storage, touched } = recording();
  const uses = lastUses(storage);
  for (let user = 0; user <= MOST; user += 1) uses.appUsed(grantOf(String(user)), now());
  await uses.written();
  t.is(touched.length, MOST);
  uses.appUsed(grantOf(String(MOST)), now());
  await uses.written();
  t.is(touched.at(-1), `${MOST} app`);
});

test('after a write that fails the others wait, so that close() waits for one timeout only', async (t) => {
  let isFailing = true;
  const { storage, touched } = recording(() => {
    if (isFailing) throw new Error('unreachable');
  });
  const logger = recordingLogger();
  const uses = createLastUses(storage, { logger });
  for (const user of ['ann', 'bob', 'eve']) uses.appUsed(grantOf(user), now());
  await uses.written();
  t.is(logger.lines.length, 1);
  t.like(logger.lines[0], {
    level: 'warn',
    message: 'recording the last use of an authorized app failed',
    fields: { err: { message: 'unreachable' }, client_id: 'app' },
  });
  isFailing = false;
  await uses.written();
  t.deepEqual(touched, ['bob app', 'eve app']);
});
