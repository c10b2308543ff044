import test from '../harness/test.ts';
import { decodeJwt } from 'jose';

import { people } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { IDP, idJag, issuerKeys, lastReason, present, startTrusted } from './identity-provider.ts';

type Answer = Awaited<ReturnType<typeof present>>;

const grantOf = ({ body }: Answer): unknown => decodeJwt(body.access_token)['grant_id'];

test('an issuer speaks for the tenants that are listed, and for no other', async (t) => {
  await using platform = await startTrusted({ idp: { tenants: ['north', 'south'] } });
  const app = await platform.registerApp();
  for (const tenant of [undefined, 'west', 'North', '', ['north']]) {
    t.is((await present(platform, app, await idJag(platform, app, { tenant }))).status, 400);
    t.is(await lastReason(platform), 'the issuer does not speak for its tenant here');
  }
  for (const tenant of ['north', 'south'])
    t.is((await present(platform, app, await idJag(platform, app, { tenant }))).status, 200);
});

test('users of two tenants with one sub have grants of their own, and so have those that findUser() tells apart later', async (t) => {
  const [ann, bob] = people().all;
  let found = ann;
  await using platform = await startTrusted({ idp: { tenants: ['north', 'south'], findUser: () => found } });
  const app = await platform.registerApp();
  const ask = async (tenant: string): Promise<Answer> =>
    present(platform, app, await idJag(platform, app, { tenant }));
  const [north, again, south] = [await ask('north'), await ask('north'), await ask('south')];
  t.is(grantOf(again), grantOf(north));
  t.not(grantOf(south), grantOf(north));
  found = bob;
  const other = await ask('north');
  t.is(decodeJwt(other.body.access_token).sub, bob!.id);
  t.not(grantOf(other), grantOf(north));
  // The end of one is none of the other.
  await platform.auth.revoke({ grantId: String(grantOf(other)) });
  t.is((await ask('north')).status, 400);
  found = ann;
  t.is(grantOf(await ask('north')), grantOf(north));
});

test('each issuer, each `sub` of one user, and each app has a grant of its own, which ends alone', async (t) => {
  const [ann] = people().all;
  const other = 'https://other.example';
  const { publicJwk } = await issuerKeys();
  const settings = { profile: 'id-jag', scopes: ['schools:read'], findUser: () => ann } as const;
  await using platform = await startTrusted({
    idp: { findUser: () => ann },
    more: { [other]: { ...settings, keys: { keys: [publicJwk] } } },
  });
  const [app, second] = [await platform.registerApp(), await platform.registerApp()];
  const ask = async (by: RegisteredApp, claims = {}): Promise<Answer> =>
    present(platform, by, await idJag(platform, by, claims));
  const asking = [
    async () => ask(app),
    async () => ask(second),
    async () => ask(app, { sub: 'ann@district.example' }),
    async () => ask(app, { iss: other }),
  ];
  const grants = new Set<unknown>();
  for (const one of asking) grants.add(grantOf(await one()));
  t.is(grants.size, 4);
  // A `jti` is one of its issuer.
  for (const iss of [IDP, other]) t.is((await ask(app, { iss, jti: 'of both' })).status, 200);
  const [first] = grants;
  await platform.auth.revoke({ grantId: String(first) });
  const statuses: number[] = [];
  for (const one of asking) statuses.push((await one()).status);
  t.deepEqual(statuses, [400, 200, 200, 200]);
  t.is(await lastReason(platform), 'the user, or the host, has ended what the issuer allowed');
});
