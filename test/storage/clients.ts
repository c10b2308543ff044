import { inspect } from 'node:util';

import { aClient, aCode, aConsent, aGrant, aRefreshToken, aSecret, LOOKALIKES, NOW } from './rows.ts';
import { clientFieldsOf } from '../../lib/features/known.ts';
import { onlyOneOf, testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function clientContract(register: StorageTest): void {
  const test = testsOf(register, 'clients');

  test('clients: find returns the inserted client with its secrets', async (t, clients) => {
    const client = aClient({
      name: 'Timetable “ü” 🎒',
      clientUri: `https://timetable.example/${'x'.repeat(1974)}`,
      verified: true,
      redirectUris: [],
      ...Object.fromEntries(
        clientFieldsOf(undefined).all.map(({ isList, name }) => [name, isList ? ['a', 'b'] : 'c']),
      ),
      grantType: 'client_credentials',
      source: 'dynamic',
      confidential: false,
      keys: { jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'a' }] } },
      native: true,
      firstParty: true,
      scopes: [],
      roles: ['registrar'],
      permissions: ['view_schools', 'edit_schools'],
      ownerId: 'ann',
      disabled: true,
      disabledBy: 'bob',
      lifetimes: { accessToken: 900, refreshToken: 3600, refreshTokenAbsolute: 86_400 },
    });
    const secrets = [
      aSecret({ id: 'a' }),
      aSecret({ id: 'b', createdAt: NOW + 1, expiresAt: NOW + 2, lastUsedAt: NOW + 3 }),
    ];
    await clients.insert(client, secrets);
    t.deepEqual(await clients.find(client.id), { client, secrets, sequence: 0 });
  });

  test('clients: scopes that are undefined and scopes that are empty stay different', async (t, clients) => {
    await clients.insert(aClient({ id: 'every', scopes: undefined }), []);
    await clients.insert(aClient({ id: 'none', scopes: [] }), []);
    t.is((await clients.find('every'))?.client.scopes, undefined);
    t.deepEqual((await clients.find('none'))?.client.scopes, []);
  });

  test('clients: lifetimes are stored, replaced and removed', async (t, clients) => {
    await clients.insert(aClient({ lifetimes: { accessToken: 900 } }), []);
    t.deepEqual((await clients.list({}))[0]?.lifetimes, { accessToken: 900 });
    for (const lifetimes of [{ refreshToken: 60, refreshTokenAbsolute: 3600 }, {}]) {
      const changed = aClient({ lifetimes });
      t.true(await clients.update(changed));
      t.deepEqual(await clients.find(changed.id), { client: changed, secrets: [], sequence: 0 });
    }
  });

  test('clients: find resolves to undefined, and does not fail, for malformed ids', async (t, clients) => {
    await clients.insert(aClient({ id: 'Id' }), []);
    for (const id of [...LOOKALIKES, '', '%', "' or 1=1 --", 'Id\0', '\u{D800}', 'x'.repeat(100_000)]) {
      t.is(await clients.find(id), undefined, JSON.stringify(id.slice(0, 20)));
    }
  });

  test('clients: insert rejects an id that exists, and stores nothing of the second client', async (t, clients) => {
    await clients.insert(aClient(), []);
    const second = clients.insert(aClient({ name: 'not for a log' }), [aSecret()]);
    const error = await t.throwsAsync(second, { code: 'ERR_STORAGE' });
    t.false(inspect(error, { depth: 9 }).includes('not for a log'), 'the error contains the rejected values');
    t.deepEqual(await clients.find(aClient().id), { client: aClient(), secrets: [], sequence: 0 });
  });

  test('clients: changing a found client or secret does not change the stored one', async (t, clients) => {
    await clients.insert(aClient({ roles: ['registrar'] }), [aSecret()]);
    const found = await clients.find(aClient().id);
    Object.assign(found?.client ?? {}, { name: 'changed', roles: [] });
    Object.assign(found?.secrets[0] ?? {}, { hash: 'changed' });
    const again = await clients.find(aClient().id);
    t.deepEqual(again, {
      client: aClient({ roles: ['registrar'] }),
      secrets: [aSecret()],
      sequence: 0,
    });
  });

  test('clients: update replaces the fields of the client and keeps its secrets', async (t, clients) => {
    await clients.insert(aClient({ scopes: ['schools:read'], ownerId: 'ann' }), [aSecret()]);
    const changed = aClient({ name: 'Renamed', disabled: true, redirectUris: [], updatedAt: NOW + 1 });
    t.true(await clients.update(changed));
    t.deepEqual(await clients.find(changed.id), { client: changed, secrets: [aSecret()], sequence: 0 });
    t.deepEqual(await clients.list({ search: 'renam' }), [changed]);
  });

  test('clients: verified is stored, and kept or removed with each update', async (t, clients) => {
    await clients.insert(aClient({ verified: true }), []);
    for (const [at, verified] of [true, false, true].entries()) {
      const changed = aClient({ verified, disabled: true, updatedAt: NOW + at });
      t.true(await clients.update(changed));
      t.deepEqual((await clients.find(changed.id))?.client, changed);
      t.deepEqual(await clients.list({}), [changed]);
    }
  });

  test('clients: updateLogo stores a logo with the fields, which findLogo finds by its hash only', async (t, clients) => {
    const picture = Uint8Array.from({ length: 65_536 }, (_, index) => index % 256);
    await clients.insert(aClient(), [aSecret()]);
    t.is(await clients.findLogo(aClient().id, 'hash'), undefined);
    const changed = aClient({ name: 'Renamed', logoHash: 'hash', updatedAt: NOW + 1 });
    t.true(await clients.updateLogo(changed, picture, NOW));
    t.deepEqual(await clients.find(changed.id), { client: changed, secrets: [aSecret()], sequence: 0 });
    t.deepEqual(Uint8Array.from((await clients.findLogo(changed.id, 'hash'))!), picture);
    for (const [id, hash] of [
      [changed.id, 'Hash'],
      [changed.id, 'hash\0'],
      ['other', 'hash'],
      ['\0', 'hash'],
    ] as const)
      t.is(await clients.findLogo(id, hash), undefined);
    // Other changes leave it where it is.
    t.true(await clients.update({ ...changed, disabled: true, updatedAt: NOW + 2 }, NOW + 1));
    t.is((await clients.findLogo(changed.id, 'hash'))?.byteLength, picture.byteLength);
    t.true(
      await clients.updateLogo(
        { ...changed, logoHash: 'other', updatedAt: NOW + 3 },
        picture.subarray(1),
        NOW + 2,
      ),
    );
    t.is(await clients.findLogo(changed.id, 'hash'), undefined);
    t.is((await clients.findLogo(changed.id, 'other'))?.byteLength, picture.byteLength - 1);
    t.true(await clients.updateLogo(aClient({ updatedAt: NOW + 4 }), undefined, NOW + 3));
    t.is(await clients.findLogo(changed.id, 'other'), undefined);
    t.is((await clients.find(changed.id))?.client.logoHash, undefined);
  });

  test('clients: updateLogo changes nothing for another version, and delete removes the logo', async (t, clients) => {
    await clients.insert(aClient(), []);
    const [one, two] = [Uint8Array.of(1), Uint8Array.of(2)];
    t.true(await clients.updateLogo(aClient({ logoHash: 'one', updatedAt: NOW + 1 }), one, NOW));
    t.false(await clients.updateLogo(aClient({ logoHash: 'two', updatedAt: NOW + 2 }), two, NOW));
    t.false(await clients.updateLogo(aClient({ id: 'gone', logoHash: 'two' }), two));
    t.deepEqual(Uint8Array.from((await clients.findLogo(aClient().id, 'one'))!), one);
    await clients.delete(aClient().id);
    t.is(await clients.findLogo(aClient().id, 'one'), undefined);
    await clients.insert(aClient({ logoHash: 'one' }), []);
    t.is(await clients.findLogo(aClient().id, 'one'), undefined);
  });

  test('clients: update returns false and stores nothing for a client that does not exist', async (t, clients) => {
    t.false(await clients.update(aClient()));
    t.is(await clients.find(aClient().id), undefined);
  });

  test('clients: update stores disabledBy and removes it when the client is enabled', async (t, clients) => {
    await clients.insert(aClient(), []);
    const disabled = aClient({ disabled: true, disabledBy: 'Ann ', updatedAt: NOW + 1 });
    t.true(await clients.update(disabled, NOW));
    t.deepEqual((await clients.find(disabled.id))?.client, disabled);
    t.deepEqual(await clients.list({}), [disabled]);
    t.true(await clients.update(aClient({ updatedAt: NOW + 2 }), NOW + 1));
    t.deepEqual((await clients.find(disabled.id))?.client, aClient({ updatedAt: NOW + 2 }));
  });

  test('clients: update returns false when updatedAt is not the expected one', async (t, clients) => {
    await clients.insert(aClient(), []);
    const [one, other] = [aClient({ name: 'One', updatedAt: NOW + 1 }), aClient({ disabled: true })];
    t.true(await clients.update(one, NOW));
    t.false(await clients.update({ ...other, updatedAt: NOW + 1 }, NOW));
    t.deepEqual((await clients.find(one.id))?.client, one);
    t.true(await clients.update({ ...other, updatedAt: NOW + 2 }, NOW + 1));
    t.false(await clients.update(aClient({ id: 'gone' }), NOW));
  });

  test('clients: of eight updates at once that expect the same updatedAt, exactly one returns true', async (t, clients) => {
    await clients.insert(aClient(), []);
    const winner = await onlyOneOf(t, 8, async (index) =>
      clients.update(aClient({ name: `Name ${index}`, updatedAt: NOW + 1 }), NOW),
    );
    t.is((await clients.find(aClient().id))?.client.name, `Name ${winner}`);
  });

  test('clients: delete also deletes secrets, consents, grants and credentials of the client only', async (t, clients, storage) => {
    const { consents, grants } = storage;
    for (const clientId of ['gone', 'kept']) {
      await clients.insert(aClient({ id: clientId }), [aSecret()]);
      await consents.add(aConsent({ clientId }));
      const grantId = `grant of ${clientId}`;
      await grants.insert(aGrant({ id: grantId, clientId }), aCode({ id: `code of ${clientId}`, grantId }));
    }
    t.true(await clients.delete('gone'));
    t.is(await clients.find('gone'), undefined);
    t.is(await consents.find('ann', 'gone'), undefined);
    t.is(await grants.find('grant of gone'), undefined);
    t.is(await grants.findCredential('code', 'code of gone'), undefined);
    const spent = await grants.redeem(
      { kind: 'code', id: 'code of gone' },
      { successor: aRefreshToken({ grantId: 'grant of gone' }) },
    );
    t.deepEqual(spent, { outcome: 'gone' });

    t.deepEqual((await clients.find('kept'))?.secrets, [aSecret()]);
    t.deepEqual(await consents.list('ann'), [aConsent({ clientId: 'kept' })]);
    t.is((await grants.find('grant of kept'))?.clientId, 'kept');
    t.false(await clients.delete('gone'));
  });

  test('clients: tokens and grants from before a deletion stay invalid when the id is inserted again', async (t, clients, storage) => {
    const { grants, revocations } = storage;
    const sequence = await revocations.latestSequence();
    const token = { id: 'jti-1', clientId: aClient().id, grant: undefined, sequence };
    await clients.insert(aClient(), []);
    t.is((await clients.find(aClient().id))?.sequence, 0);
    await clients.delete(aClient().id);
    await clients.insert(aClient(), []);
    t.false(await revocations.isValid(token));
    const found = await clients.find(aClient().id);
    t.is(found?.sequence, await revocations.latestSequence());
    t.true(await revocations.isValid({ ...token, sequence: found!.sequence }));
    // As of a request that found the client before it was deleted.
    await grants.insert(aGrant({ clientId: aClient().id, sequence }), aCode());
    t.is(await grants.findCredential('code', aCode().id), undefined);
  });

  test('clients: delete with a version deletes that version only', async (t, clients) => {
    await clients.insert(aClient({ id: 'gone', updatedAt: 5 }), [aSecret()]);
    t.false(await clients.delete('gone', 4));
    t.is((await clients.find('gone'))?.secrets.length, 1);
    t.is((await clients.find('gone'))?.sequence, 0);
    t.true(await clients.delete('gone', 5));
    t.is(await clients.find('gone'), undefined);
    t.false(await clients.delete('gone', 5));
  });

  test('clients: delete also deletes 450 grants and consents', async (t, clients, storage) => {
    await clients.insert(aClient({ id: 'gone' }), []);
    const ids = Array.from({ length: 450 }, (_, index) => `${index}`);
    for (const id of ids) {
      await storage.consents.add(aConsent({ userId: id, clientId: 'gone' }));
      await storage.grants.insert(aGrant({ id, clientId: 'gone' }), aCode({ id, grantId: id }));
    }
    t.true(await clients.delete('gone'));
    for (const id of ids) t.is(await storage.grants.find(id), undefined);
    const left = await Promise.all(ids.map(async (id) => storage.consents.find(id, 'gone')));
    t.deepEqual(new Set(left), new Set([undefined]));
  });
}
