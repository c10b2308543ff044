import test from '../harness/test.ts';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { postForm } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { until } from '../harness/until.ts';
import { issue, SECRET } from './laravel.ts';
import { passportOf } from './store-contract.ts';
import { codeOf, moveIn, refresh, REFUSED, startLaravel } from './moved-platform.ts';
import type { LaravelPassportSource } from '../../lib/features/laravel-passport/types.ts';

/** A storage that calls a function before its next call of a method. */
function interrupted(name: string): { storage: Storage; before: (work: () => Promise<unknown>) => void } {
  let work: (() => Promise<unknown>) | undefined;
  return {
    before(given) {
      work = given;
    },
    storage: around(memoryStorage(), async (called, call) => {
      if (called === name && work) {
        const due = work;
        work = undefined;
        await due();
      }
      return call();
    }),
  };
}

const issuedAt = Math.floor(Date.now() / 1000) - 60;

test('a user who disconnects the app while a token or the consents are imported has disconnected it', async (t) => {
  for (const readOnly of [true, false]) {
    await using laravel = await startLaravel('11', { options: { readOnly } });
    const { before, storage } = interrupted('consents.add');
    await using platform = await moveIn(laravel, { storage });
    await laravel.database('oauth_access_tokens').delete();
    const { userGrants: grants } = platform.auth;
    const disconnect = async (): Promise<unknown> => grants.revoke('42', { clientId: '7' });
    const { accessToken, refreshToken } = await issue(laravel.database, {
      clientId: 7,
      userId: 42,
      issuedAt,
    });

    before(disconnect);
    t.is(await codeOf(platform, accessToken), 'token_revoked', String(readOnly));
    t.like(await refresh(platform, laravel, refreshToken), REFUSED);
    t.deepEqual((await grants.list('42')).clients, []);
    t.is(await storage.consents.find('42', '7'), undefined);

    await laravel.database('oauth_access_tokens').update({ revoked: false });
    await issue(laravel.database, { clientId: 7, userId: 7, issuedAt });
    before(async () => grants.revoke('7', { clientId: '7' }));
    await grants.list('7');
    t.is(await storage.consents.find('7', '7'), undefined, String(readOnly));
  }
});

test('a token of an app that was disconnected stores no consent, not even for a moment', async (t) => {
  await using laravel = await startLaravel('11', { options: { readOnly: true } });
  const { before, storage } = interrupted('consents.add');
  await using platform = await moveIn(laravel, { storage });
  const { accessToken, refreshToken } = await issue(laravel.database, { clientId: 7, userId: 42, issuedAt });
  await platform.auth.userGrants.revoke('42', { clientId: '7' });
  let added = 0;
  before(async () => (added += 1));
  t.is(await codeOf(platform, accessToken), 'token_revoked');
  t.like(await refresh(platform, laravel, refreshToken), REFUSED);
  const found = await postForm(`${platform.origin}/oauth/introspect`, {
    client_id: '7',
    client_secret: SECRET,
    token: refreshToken,
  });
  t.deepEqual(found.body, { active: false });
  t.deepEqual((await platform.auth.userGrants.list('42')).clients, []);
  t.is(added, 0);
});

test('consents are imported once, and none after the date', async (t) => {
  await using laravel = await startLaravel('11');
  const { before, storage } = interrupted('consents.find');
  await using platform = await moveIn(laravel, { storage });
  await issue(laravel.database, { clientId: 7, userId: 42, issuedAt });
  const listed = async ({ auth }: typeof platform): Promise<readonly string[]> =>
    (await auth.userGrants.list('42')).clients.map(({ client }) => client.id);
  t.deepEqual(await listed(platform), ['7']);
  let reads = 0;
  before(async () => (reads += 1));
  t.deepEqual(await listed(platform), ['7']);
  t.is(reads, 0);
  await using ended = await moveIn(laravel, { passport: { until: new Date(Date.now() - 1000) } });
  t.deepEqual(await listed(ended), []);
});

test('nor does an app come back whose disconnection Passport is told of while it is asked', async (t) => {
  for (const way of ['its token', 'the consents']) {
    await using laravel = await startLaravel('11');
    const { before, storage } = interrupted('consents.add');
    const told = Promise.withResolvers<void>();
    let asked = 0;
    /** Answers what was so before Passport was told. */
    const late = async <T>(asking: Promise<T>): Promise<T> => {
      const answer = await asking;
      asked += 1;
      if (asked < 2) return answer;
      told.resolve();
      const passport = await passportOf(storage);
      const of = { userId: '42', clientId: '7', sequence: Number.MAX_SAFE_INTEGER, mark: undefined };
      await until(async () => !(await passport.hasEnded(of)));
      return answer;
    };
    const source: LaravelPassportSource = {
      ...laravel.source,
      revoke: async (selector) => told.promise.then(async () => laravel.source.revoke(selector)),
      findAccessToken: async (id) => late(laravel.source.findAccessToken(id)),
      ...(way === 'the consents' && {
        authorizations: async (...of) => late(laravel.source.authorizations(...of)),
      }),
    };
    await using platform = await moveIn({ ...laravel, source }, { storage });
    await laravel.database('oauth_access_tokens').delete();
    const { accessToken } = await issue(laravel.database, { clientId: 7, userId: 42, issuedAt });
    before(async () => platform.auth.userGrants.revoke('42', { clientId: '7' }));
    if (way === 'its token') t.is(await codeOf(platform, accessToken), 'token_revoked');
    else t.deepEqual((await platform.auth.userGrants.list('42')).clients, []);
    t.is(await storage.consents.find('42', '7'), undefined, way);
    t.deepEqual(await storage.grants.list('42', { now: 0, limit: 9 }), [], way);
    told.resolve();
  }
});
