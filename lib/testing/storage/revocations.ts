import type { Revocation } from '../../contracts.ts';
import { aRevocation, HOUR, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function revocationContract(test: StorageTest): void {
  test('revocations: among gives those of the given keys that are revoked', async (t, { revocations }) => {
    const all: Revocation[] = [
      aRevocation({ kind: 'token', value: 'a' }),
      aRevocation({ kind: 'grant', value: 'a' }),
      aRevocation({ kind: 'client', value: 'b' }),
    ];
    for (const revocation of all) await revocations.add(revocation);
    const found = await revocations.among([
      { kind: 'token', value: 'a' },
      { kind: 'token', value: 'b' },
      { kind: 'client', value: 'a' },
      { kind: 'client', value: 'b' },
    ]);
    t.deepEqual(byKind(found), byKind([all[0]!, all[2]!]));
    t.deepEqual(await revocations.among([]), []);
  });

  test('revocations: among takes many keys, and the same one twice', async (t, { revocations }) => {
    await revocations.add(aRevocation({ value: 'jti-500' }));
    const keys = Array.from(
      { length: 1000 },
      (_, index) => ({ kind: 'token', value: `jti-${index}` }) as const,
    );
    t.deepEqual(await revocations.among([...keys, ...keys]), [aRevocation({ value: 'jti-500' })]);
  });

  test('revocations: among takes values exactly', async (t, { revocations }) => {
    await revocations.add(aRevocation({ value: 'Id' }));
    t.deepEqual(await revocations.among(LOOKALIKES.map((value) => ({ kind: 'token', value }))), []);
  });

  test('revocations: added again, the later times stay, whatever the order', async (t, { revocations }) => {
    const client = { kind: 'client', value: 'timetable' } as const;
    const early = aRevocation({ ...client, revokedAt: NOW, expiresAt: NOW + HOUR });
    const late = aRevocation({ ...client, revokedAt: NOW + 9, expiresAt: NOW + HOUR + 9 });
    for (const revocation of [early, late, early]) await revocations.add(revocation);
    t.deepEqual(await revocations.among([client]), [late]);
  });

  test('revocations: since gives all at or after a time', async (t, { revocations }) => {
    for (const revokedAt of [NOW + 2, NOW, NOW + 1]) {
      await revocations.add(aRevocation({ value: `at ${revokedAt}`, revokedAt }));
    }
    const since = await revocations.since(NOW + 1);
    t.deepEqual(since.map(({ value }) => value).toSorted(), [`at ${NOW + 1}`, `at ${NOW + 2}`]);
    t.deepEqual(await revocations.since(NOW + 3), []);
  });
}

function byKind(revocations: readonly Revocation[]): Revocation[] {
  return revocations.toSorted((a, b) => a.kind.localeCompare(b.kind));
}
