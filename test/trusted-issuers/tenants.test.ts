import test from '../harness/test.ts';
import { decodeJwt } from 'jose';

import { people } from '../harness/platform.ts';
import { idJag, lastReason, present, startTrusted } from './identity-provider.ts';

const grantOf = ({ body }: Awaited<ReturnType<typeof present>>): unknown =>
  decodeJwt(body.access_token)['grant_id'];

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
  const ask = async (tenant: string): Promise<Awaited<ReturnType<typeof present>>> =>
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
