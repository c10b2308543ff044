import type { Credential, GrantPrerequisites, Storage } from '../../lib/contracts/index.ts';
import { endsWithItsConsent } from '../storage/credentials.ts';
import { isRedeemedOnce } from '../storage/redemption.ts';
import { aCode, aConsent, aGrant, aSession, HOUR, LOOKALIKES, NOW, rowsOf } from '../storage/rows.ts';
import { atOnce, onlyOneOf } from '../storage/store-tests.ts';
import type { Assertions } from '../../lib/testing/test-runner.ts';
import type { StorageTest } from '../storage/store-tests.ts';
import { deviceCodeStore } from '../../lib/features/devices/store.ts';
import type { DeviceCode, DeviceCodeStore } from '../../lib/features/devices/types.ts';

export const aDeviceCode = (fields: Partial<DeviceCode> = {}): DeviceCode => ({
  id: 'device-code-1',
  userCodeId: 'user-code-1',
  clientId: 'timetable',
  payload: { scope: 'schools:read' },
  createdAt: NOW,
  expiresAt: NOW + 600,
  keptUntil: NOW + HOUR,
  sequence: 1000,
  answer: undefined,
  polledAt: undefined,
  ...fields,
});

/** The credential of an approved {@link aDeviceCode}. */
export function anApproved(fields: Partial<Credential> = {}): Credential {
  return aCode({ kind: 'device_code', id: aDeviceCode().id, expiresAt: NOW + 600, ...fields });
}

export const deviceCodesOf = async (storage: Storage): Promise<DeviceCodeStore> =>
  storage.store('deviceCodes', deviceCodeStore);

const { id } = aDeviceCode();

export function deviceCodeContract(register: StorageTest): void {
  const test = (
    title: string,
    run: (t: Assertions, deviceCodes: DeviceCodeStore, storage: Storage) => Promise<void>,
  ): void => register(title, async (t, storage) => run(t, await deviceCodesOf(storage), storage));

  test('device codes: find and findByUserCode return what insert has stored, and compare exactly', async (t, deviceCodes) => {
    const payload = { scope: 'schools:read', userAgent: `it's "a" TV 🎒`, list: [1, null] };
    await deviceCodes.insert(aDeviceCode({ payload }));
    t.deepEqual(await deviceCodes.find(id), aDeviceCode({ payload }));
    t.deepEqual(await deviceCodes.findByUserCode('user-code-1'), aDeviceCode({ payload }));
    await deviceCodes.insert(aDeviceCode({ id: 'Id', userCodeId: 'Id' }));
    for (const other of [...LOOKALIKES, 'I\0d', 'x'.repeat(5000)]) {
      t.is(await deviceCodes.find(other), undefined, other);
      t.is(await deviceCodes.findByUserCode(other), undefined, other);
    }
  });

  test('device codes: insert refuses an id and a user code that are stored already', async (t, deviceCodes) => {
    await deviceCodes.insert(aDeviceCode());
    const same = [aDeviceCode({ userCodeId: 'other' }), aDeviceCode({ id: 'other' })];
    for (const code of same) await t.throwsAsync(deviceCodes.insert(code), { code: 'ERR_STORAGE' });
    t.is(await deviceCodes.find('other'), undefined);
  });

  test('device codes: of a hundred polls at once, one is recorded in each interval', async (t, deviceCodes) => {
    await deviceCodes.insert(aDeviceCode());
    for (const at of [1_000_000, 1_005_000, 1_010_000]) {
      await onlyOneOf(t, 100, async (index) =>
        deviceCodes.poll(id, { at: at + index, since: at + index - 4900 }),
      );
    }
    t.is(await deviceCodes.poll('unknown', { at: 1, since: 0 }), false);
    t.is((await deviceCodes.find(id))?.answer, undefined);
  });

  test('device codes: approve stores a grant with a credential that is redeemed once', async (t, deviceCodes, storage) => {
    const { grants } = storage;
    await deviceCodes.insert(aDeviceCode());
    t.true(await approve(storage));
    t.is((await deviceCodes.find(id))?.answer, 'approved');
    t.deepEqual(rowsOf(await grants.findCredential('device_code', id)), {
      credential: anApproved(),
      grant: aGrant(),
    });
    await isRedeemedOnce(t, grants, { kind: 'device_code', id });
  });

  test('device codes: a request is answered once, of many answers at once too', async (t, deviceCodes, storage) => {
    for (let round = 0; round < 10; round += 1) {
      const name = `round ${round}`;
      await deviceCodes.insert(aDeviceCode({ id: name, userCodeId: name }));
      await onlyOneOf(t, 6, async (index) =>
        index % 2 === 0 ? approve(storage, name, `${name} ${index}`) : deviceCodes.deny(name, NOW),
      );
      const stored = await atOnce(3, async (index) => storage.grants.find(`${name} ${2 * index}`));
      const isApproved = (await deviceCodes.find(name))?.answer === 'approved';
      t.is(stored.filter(Boolean).length, isApproved ? 1 : 0);
    }
  });

  test('device codes: one that has expired, or is unknown, is not answered', async (t, deviceCodes, storage) => {
    await deviceCodes.insert(aDeviceCode({ expiresAt: NOW }));
    t.false(await approve(storage));
    t.false(await deviceCodes.deny(id, NOW));
    t.false(await approve(storage, 'unknown'));
    t.is((await deviceCodes.find(id))?.answer, undefined);
    t.is(await storage.grants.findCredential('device_code', id), undefined);
  });

  test('device codes: without its consent or its session a request stays unanswered, and nothing is stored', async (t, deviceCodes, storage) => {
    const prerequisites = { consent: aConsent(), sessionId: aSession().id };
    await deviceCodes.insert(aDeviceCode());
    await storage.consents.add(aConsent());
    t.false(await approve(storage, id, 'grant-1', prerequisites));
    await storage.sessions.insert(aSession());
    t.false(
      await approve(storage, id, 'grant-1', { ...prerequisites, consent: aConsent({ createdAt: NOW - 1 }) }),
    );
    t.is(await storage.grants.find('grant-1'), undefined);
    t.is(await storage.grants.findCredential('device_code', id), undefined);
    t.is((await deviceCodes.find(id))?.answer, undefined);
    t.true(await approve(storage, id, 'grant-1', prerequisites));
  });

  test('device codes: approve and the deletion of its consent at once leave no usable credential', async (t, deviceCodes, storage) => {
    await endsWithItsConsent(t, storage, 'device_code', async (name) => {
      await deviceCodes.insert(aDeviceCode({ id: name, userCodeId: name }));
      return async () => approve(storage, name, name, { consent: aConsent() });
    });
  });

  test('device codes: prune deletes one after keptUntil', async (t, deviceCodes, storage) => {
    await deviceCodes.insert(aDeviceCode());
    t.is(await storage.prune(NOW + HOUR, 10), 0);
    t.is(await storage.prune(NOW + HOUR + 1, 10), 1);
    t.is(await deviceCodes.find(id), undefined);
  });
}

async function approve(
  storage: Storage,
  code = id,
  grantId = 'grant-1',
  prerequisites: GrantPrerequisites = {},
): Promise<boolean> {
  const deviceCodes = await deviceCodesOf(storage);
  const grant = aGrant({ id: grantId });
  return deviceCodes.approve(grant, anApproved({ id: code, grantId }), prerequisites, NOW);
}
