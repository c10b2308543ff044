import type { End, EndKind, Storage } from '../../lib/contracts/index.ts';
import { aClient, aCode, aGrant, aSession } from './rows.ts';
import { atOnce, testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

const LATER = Number.MAX_SAFE_INTEGER - 1;
const NEVER = Number.MAX_SAFE_INTEGER;

const ALL: readonly EndKind[] = [
  'token',
  'grant',
  'connection',
  'sign_in',
  'session',
  'user',
  'client',
  'admission',
  'all',
];

async function taken(
  { ends }: Storage,
  reader = 'a',
): Promise<readonly Omit<End, 'id' | 'at' | 'attempt'>[]> {
  const found = await ends.take(reader, { now: LATER, leasedUntil: NEVER, limit: 256 });
  await ends.done(found);
  return found
    .map(({ at: _at, attempt: _attempt, id: _id, ...rest }) => rest)
    .toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
}

/** Ends one of everything. */
async function endAll({ clients, grants, revocations, sessions }: Storage, id: string): Promise<void> {
  const sequence = await revocations.latestSequence();
  await clients.insert(aClient({ id }), []);
  await sessions.insert(aSession({ id, uid: id, userId: id, sequence }));
  for (const name of ['signed in', 'revoked'])
    await grants.insert(
      aGrant({ id: `${id} ${name}`, userId: id, clientId: id, sessionUid: id, sequence }),
      aCode({ id: `${id} ${name}`, grantId: `${id} ${name}` }),
    );
  await grants.revoke({ id: `${id} revoked` }, 1, 'client');
  await clients.update(aClient({ id, name: 'Another name' }));
  await clients.update(aClient({ id, disabled: true }));
  await grants.revoke({ userId: 'nobody', clientId: id }, 1);
  await sessions.end(id);
  await revocations.revokeAllOf({ userId: id });
  await revocations.revokeAllOf({ clientId: id });
  await revocations.revokeAllOf({ all: true });
}

export function endContract(register: StorageTest): void {
  const test = testsOf(register, 'ends');

  test('ends: whatever ends is stored for each reader of its kind, with whom it is of and who has ended it', async (t, ends, storage) => {
    await ends.read('a', ALL, NEVER);
    await ends.read('b', ['user'], NEVER);
    await endAll(storage, 'x');
    const none = { userId: undefined, clientId: undefined, sessionUid: undefined };
    const of = { ...none, by: 'owner' } as const;
    t.deepEqual(await taken(storage), [
      { ...of, kind: 'admission', value: 'x', clientId: 'x' },
      { ...of, kind: 'all', value: '' },
      { ...of, kind: 'client', value: 'x', clientId: 'x' },
      { ...of, kind: 'connection', value: 'x', userId: 'nobody', clientId: 'x' },
      { kind: 'grant', value: 'x revoked', userId: 'x', clientId: 'x', sessionUid: 'x', by: 'client' },
      { ...of, kind: 'session', value: 'x', userId: 'x' },
      { ...of, kind: 'sign_in', value: 'x revoked', userId: 'x', clientId: 'x', sessionUid: 'x' },
      { ...of, kind: 'user', value: 'x', userId: 'x' },
    ]);
    t.deepEqual(await taken(storage, 'b'), [{ ...of, kind: 'user', value: 'x', userId: 'x' }]);
    t.deepEqual([await taken(storage), await taken(storage, 'b')], [[], []]);
  });

  test('ends: nothing is stored without a reader, nor for one that has not said again that it reads', async (t, ends, storage) => {
    await endAll(storage, 'x');
    await ends.read('a', ALL, 1);
    await endAll(storage, 'y');
    t.deepEqual(await taken(storage), []);
  });

  test('ends: of many nodes, one takes an end, and another one when its lease has ended', async (t, ends, storage) => {
    await ends.read('a', ['user'], NEVER);
    await atOnce(30, async (index) => storage.revocations.revokeAllOf({ userId: `${index}` }));
    const page = { now: LATER - 100, leasedUntil: LATER - 50, limit: 4 };
    const found = (await atOnce(20, async () => ends.take('a', page))).flat();
    t.is(new Set(found.map(({ value }) => value)).size, 30);
    t.is(found.length, 30);
    await ends.done(found.slice(0, 10));
    t.deepEqual(await ends.take('a', { ...page, now: LATER - 51 }), []);
    t.is((await ends.take('a', { now: LATER - 50, leasedUntil: NEVER, limit: 256 })).length, 20);
  });

  test('ends: a reader takes them in the order in which they were stored, those of clients in the order of their ends', async (t, ends, storage) => {
    await ends.read('a', ALL, NEVER);
    const { clients, revocations } = storage;
    const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
    for (const id of ids) await revocations.revokeAllOf({ userId: id });
    for (const id of ids) await clients.insert(aClient({ id }), []);
    await atOnce(20, async (index) => revocations.revokeAllOf({ clientId: `${index}` }));
    const found: string[] = [];
    for (;;) {
      const page = await ends.take('a', { now: LATER, leasedUntil: NEVER, limit: 7 });
      if (page.length === 0) break;
      found.push(...page.map(({ value }) => value));
      await ends.done(page);
    }
    const sequences = await Promise.all(ids.map(async (id) => (await clients.find(id))!.sequence));
    const ended = ids.toSorted((a, b) => sequences[Number(a)]! - sequences[Number(b)]!);
    t.deepEqual(found, [...ids, ...ended]);
  });

  test('ends: what a node gives back is taken again at the time that it names, unless another one has taken it', async (t, ends, storage) => {
    await ends.read('a', ['user'], NEVER);
    for (const userId of ['x', 'y']) await storage.revocations.revokeAllOf({ userId });
    const at = LATER - 100;
    const first = await ends.take('a', { now: at, leasedUntil: at + 60, limit: 9 });
    await ends.done(first.filter(({ value }) => value === 'y'));
    await ends.release(first, at + 10);
    await ends.release([], at);
    t.deepEqual(await ends.take('a', { now: at + 9, leasedUntil: at + 69, limit: 9 }), []);
    const again = await ends.take('a', { now: at + 10, leasedUntil: at + 70, limit: 9 });
    t.deepEqual(
      again.map(({ value }) => value),
      ['x'],
    );
    await ends.release(first, at);
    t.deepEqual(await ends.take('a', { now: at + 69, leasedUntil: NEVER, limit: 9 }), []);
  });

  test('ends: a change of a client that is refused stores none', async (t, ends, { clients }) => {
    await ends.read('a', ['admission'], NEVER);
    await clients.insert(aClient(), []);
    t.false(await clients.update(aClient({ disabled: true }), aClient().updatedAt - 1));
    t.deepEqual(await ends.take('a', { now: LATER, leasedUntil: NEVER, limit: 9 }), []);
  });

  test('ends: those of a reader are kept while it goes on, and pruned afterwards', async (t, ends, storage) => {
    for (const reader of ['a', 'b']) await ends.read(reader, ['user'], LATER - 10);
    await ends.read('b', ['user'], NEVER);
    await storage.revocations.revokeAllOf({ userId: 'x' });
    while ((await storage.prune(LATER - 5, 100)) > 0);
    t.deepEqual([(await taken(storage)).length, (await taken(storage, 'b')).length], [0, 1]);
  });

  test('ends: those that listen are called after each, whether anybody reads it or not', async (t, ends, storage) => {
    const written: string[] = [];
    const stop = ends.onWritten(({ kind }) => written.push(kind));
    await endAll(storage, 'x');
    t.deepEqual(written, ['grant', 'admission', 'admission', 'grant', 'session', 'user', 'client', 'all']);
    await storage.clients.delete('x');
    t.is(written.at(-1), 'client', 'its deletion is its end');
    t.is(written.length, 9);
    stop();
    await storage.revocations.revokeAllOf({ userId: 'x' });
    t.is(written.length, 9);
  });
}
