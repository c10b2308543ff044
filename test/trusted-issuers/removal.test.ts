import test from '../harness/test.ts';
import { trustedIssuers } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { BOTH_SCOPES, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient, clientToken } from '../harness/tokens.ts';
import {
  CI,
  IDP,
  idJag,
  issuerKeys,
  JOB,
  jobToken,
  present,
  presentJob,
  startTrusted,
  trusting,
} from './identity-provider.ts';
import type { Trusted } from './identity-provider.ts';

test('without an issuer, or the feature, its tokens are refused wherever tokens are accepted, and others stay', async (t) => {
  const storage = memoryStorage();
  await using first = await startPlatform({ storage });
  const service = await first.registerService(['view_schools']);
  const { issuer } = first.auth;
  const ci = { rules: [{ client: service.client.id, match: { sub: JOB } }] };
  const start = async (trusted: Trusted | undefined): Promise<Platform> =>
    startPlatform({
      storage,
      issuer,
      scopes: BOTH_SCOPES,
      ...(trusted && { features: [await trusting(trusted)] }),
    });
  await using platform = await start({ ci });
  const app = await platform.registerApp();
  const tokens = {
    [IDP]: (await present(platform, app, await idJag(platform, app))).body.access_token,
    [CI]: (await presentJob(platform, await jobToken(platform))).body.access_token,
    own: await clientToken(platform, service),
  };
  const introspect = async (at: Platform, of: keyof typeof tokens): Promise<unknown> => {
    const by = asClient(of === IDP ? app : service);
    return (await postForm(at.url('/oauth/introspect'), { ...by, token: tokens[of] })).body!['active'];
  };

  await using withoutCi = await start({});
  await using without = await start(undefined);
  const accepted: readonly (readonly [Platform, readonly (keyof typeof tokens)[]])[] = [
    [platform, [IDP, CI, 'own']],
    [withoutCi, [IDP, 'own']],
    [without, ['own']],
  ];
  for (const [index, [at, names]] of accepted.entries())
    for (const [name, token] of Object.entries(tokens)) {
      const isAccepted = names.includes(name as never);
      t.is((await at.api('/schools', token)).status, isAccepted ? 200 : 401, `${index} ${name}`);
      t.is(await introspect(at, name as never), isAccepted, `${index} ${name}`);
    }
  t.is((await withoutCi.auth.userGrants.list('1')).clients.length, 1);
  t.deepEqual((await without.auth.userGrants.list('1')).clients, []);
  // The grant is there, and is exported, also while the feature is off.
  t.is((await without.auth.userData.export('1')).trustedIssuers!.length, 1);
  t.is(
    (await presentJob(withoutCi, await jobToken(withoutCi), asClient(service))).body.error,
    'invalid_grant',
  );
  const unknown = await presentJob(without, await jobToken(without), asClient(service));
  t.is(unknown.body.error, 'unsupported_grant_type');
});

test('a new server whose options lack the issuer refuses its tokens, and one that has it again accepts them', async (t) => {
  const storage = memoryStorage();
  const published = { keys: [(await issuerKeys()).publicJwk] };
  const other = {
    profile: 'id-jag',
    keys: published,
    scopes: ['schools:read'],
    findUser: () => undefined,
  } as const;
  await using platform = await startTrusted({ more: { 'https://other.example': other } }, { storage });
  const app = await platform.registerApp();
  const { body } = await present(platform, app, await idJag(platform, app));
  t.is((await platform.api('/schools', body.access_token)).status, 200);
  const { issuer } = platform.auth;
  const features = [trustedIssuers({ 'https://other.example': other })];
  await using without = await startPlatform({ storage, issuer, scopes: BOTH_SCOPES, features });
  t.is((await without.api('/schools', body.access_token)).status, 401);
  t.deepEqual((await without.auth.userGrants.list('1')).clients, []);
  await using again = await startTrusted({}, { storage, issuer });
  t.is((await again.api('/schools', body.access_token)).status, 200);
});
