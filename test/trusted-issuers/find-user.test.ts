import test from '../harness/test.ts';

import { people } from '../harness/platform.ts';
import { idJag, lastReason, present, REFUSED, startTrusted } from './identity-provider.ts';

test('a user whom the user store does not have gets no grant, whatever findUser() returns', async (t) => {
  const [ann] = people().all;
  await using platform = await startTrusted({ idp: { findUser: () => ({ ...ann!, id: 'removed' }) } });
  const app = await platform.registerApp();
  t.like((await present(platform, app, await idJag(platform, app))).body, REFUSED);
  t.is(await lastReason(platform), 'users.find() finds no user with the id that findUser() has returned');
  t.deepEqual((await platform.auth.userGrants.list('removed')).clients, []);
});

test('while findUser() fails, the assertion is not spent, and nobody is told why', async (t) => {
  let isAway = true;
  await using platform = await startTrusted({
    idp: {
      findUser({ sub }) {
        if (isAway) throw new Error('the directory at 10.0.0.7 is away');
        return people().all.find(({ name }) => name?.toLowerCase() === sub);
      },
    },
  });
  const app = await platform.registerApp();
  const assertion = await idJag(platform, app);
  const { body, status } = await present(platform, app, assertion);
  t.is(status, 500);
  t.is(body.error, 'server_error');
  t.notRegex(JSON.stringify(body), /directory|10\.0/);
  const failed = platform.logger.lines.find(({ level }) => level === 'error');
  t.like(failed?.fields, { err: { message: 'the directory at 10.0.0.7 is away' } });
  isAway = false;
  t.is((await present(platform, app, assertion)).status, 200);
});

test('findUser() gets the claims that were verified, and the issuer', async (t) => {
  const seen: unknown[] = [];
  await using platform = await startTrusted({
    idp: {
      findUser(claims, by) {
        seen.push([claims['email'], claims.sub, by]);
        return people().all[0];
      },
    },
  });
  const app = await platform.registerApp();
  t.is(
    (await present(platform, app, await idJag(platform, app, { email: 'ann@district.example' }))).status,
    200,
  );
  // Of an assertion that is not for this server, it learns nothing.
  t.is(
    (await present(platform, app, await idJag(platform, app, { aud: 'https://other.example' }))).status,
    400,
  );
  t.deepEqual(seen, [['ann@district.example', 'ann', { issuer: 'https://idp.district.example' }]]);
});
