import test from '../harness/test.ts';

import { clientToken } from '../harness/tokens.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { decodeJwt } from 'jose';

import { passTime } from '../harness/clock.ts';
import { idJag, JOB, jobToken, present, presentJob, startTrusted } from './identity-provider.ts';

const lifeOf = (token: string): number => {
  const { exp, iat } = decodeJwt(token);
  return exp! - iat!;
};

test('an access token for an assertion lives an hour at most, so that the issuer decides again, and no refresh token is given', async (t) => {
  const storage = memoryStorage();
  await using platform = await startTrusted({}, { storage, tokens: { lifetimes: 'long' } });
  const service = await platform.registerService(['view_schools']);
  const { issuer } = platform.auth;
  const ci = { rules: [{ client: service.client.id, match: { sub: JOB } }] };
  await using there = await startTrusted({ ci }, { storage, issuer, tokens: { lifetimes: 'long' } });
  const app = await there.registerApp();
  const brief = await there.registerApp({ lifetimes: { accessToken: '10 minutes' } });

  const ofUser = await present(there, app, await idJag(there, app));
  const ofJob = await presentJob(there, await jobToken(there));
  for (const { body } of [ofUser, ofJob]) {
    t.is(body.expires_in, 3600);
    t.is(lifeOf(body.access_token), 3600);
    t.false('refresh_token' in body);
  }
  const shorter = await present(there, brief, await idJag(there, brief));
  t.is(shorter.body.expires_in, 600);
  // Other tokens of the same client live as before.
  t.true(lifeOf(await clientToken(there, service)) > 3600);
  passTime(3601);
  t.is((await there.api('/schools', ofUser.body.access_token)).status, 401);
  t.is((await there.api('/schools', ofJob.body.access_token)).status, 401);
});
