import test from '../harness/test.ts';

import { makeKeyPair } from '../harness/client-keys.ts';
import { passTime } from '../harness/clock.ts';
import {
  idJag,
  JOB,
  jobToken,
  lastReason,
  present,
  presentJob,
  REFUSED,
  startTrusted,
} from './identity-provider.ts';
import type { TrustedPlatform } from './identity-provider.ts';

const LIMITS = { attempts: { clientAuthentication: { perAddress: 5, window: '5 minutes' } } } as const;

/** The status of each of some presentations, one after the other. */
async function statuses(
  count: number,
  presenting: () => Promise<{ readonly status: number }>,
): Promise<number[]> {
  const found: number[] = [];
  for (let done = 0; done < count; done += 1) found.push((await presenting()).status);
  return found;
}

async function startLimited(): Promise<TrustedPlatform> {
  return startTrusted({ ci: { rules: [{ client: 'nobody', match: { sub: JOB } }] } }, { limits: LIMITS });
}

test('assertions that no issuer has signed are limited by address, so that nobody tries for ever', async (t) => {
  await using platform = await startLimited();
  const app = await platform.registerApp();
  const pair = await makeKeyPair('issuer-1');
  const forged = await idJag(platform, app, {}, { pair });
  t.deepEqual(
    await statuses(7, async () => present(platform, app, forged)),
    [400, 400, 400, 400, 400, 429, 429],
  );
  const { body, headers, status } = await present(platform, app, await idJag(platform, app));
  t.is(status, 429);
  const seconds = Number(headers.get('retry-after'));
  t.true(seconds > 0 && seconds <= 300);
  t.deepEqual(body as object, {
    error: 'temporarily_unavailable',
    error_description: `too many assertions that no issuer has signed; try again in ${seconds} seconds`,
  });
  passTime(301);
  t.is((await present(platform, app, await idJag(platform, app))).status, 200);
});

test('so are those of issuers that are not trusted, and what is no assertion', async (t) => {
  await using platform = await startLimited();
  const app = await platform.registerApp();
  const values = ['abc', await idJag(platform, app, { iss: 'https://unknown.example' })];
  for (const value of values) t.like((await present(platform, app, value)).body, REFUSED);
  t.deepEqual(await statuses(4, async () => present(platform, app, values[0]!)), [400, 400, 400, 429]);
});

test('what an issuer has signed does not count, however often it is refused: a platform has many users', async (t) => {
  await using platform = await startLimited();
  const app = await platform.registerApp();
  const ofNobody = await idJag(platform, app, { sub: 'nobody' });
  const expired = await idJag(platform, app, { exp: 1_700_000_000, iat: 1_699_999_700 });
  const forOthers = await idJag(platform, app, { aud: 'https://other.example' });
  for (const assertion of [ofNobody, expired, forOthers])
    t.deepEqual(new Set(await statuses(7, async () => present(platform, app, assertion))), new Set([400]));
  t.is((await present(platform, app, await idJag(platform, app))).status, 200);
});

test('a forged job is limited too, and finds nothing out about the client that it names', async (t) => {
  await using before = await startLimited();
  const service = await before.registerService();
  const pair = await makeKeyPair('issuer-1');
  const forged = await jobToken(before, {}, { pair });
  const named = { client_id: service.client.id };
  const { body, status } = await presentJob(before, forged, named);
  t.is(status, 400);
  t.deepEqual(body as object, REFUSED);
  t.is(await lastReason(before), 'the signature is not that of the key of the issuer');
  t.deepEqual(await statuses(5, async () => presentJob(before, forged, named)), [400, 400, 400, 400, 429]);
});
