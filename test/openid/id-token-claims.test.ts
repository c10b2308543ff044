import { createHash } from 'node:crypto';

import test from '../harness/test.ts';
import { decodeJwt } from 'jose';

import { people, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { OPENID } from './options.ts';

type Given = NonNullable<Parameters<typeof startPlatform>[0]>;

/** Signs Ann in. Resolves to the tokens, with the claims of the ID token. */
async function signInWith(given: Given, parameters: Record<string, string> = {}) {
  await using platform = await startPlatform(given);
  const app = await platform.registerApp();
  const { body } = await runCodeFlow(platform, app, {
    parameters: { scope: 'openid profile email', ...parameters },
  });
  return { ...body, claims: decodeJwt(body.id_token!) };
}

test('with claimsInIdToken: false the ID token has the claims of scopes that the request names, and no others', async (t) => {
  const openid = { ...OPENID, claimsInIdToken: false };
  const { claims } = await signInWith({ openid }, { claims: '{"id_token":{"email":null}}' });
  t.deepEqual([claims['email'], 'name' in claims], ['ann@school.example', false]);
  const all = await signInWith({ openid: { ...OPENID, claimsInIdToken: true } });
  t.deepEqual([all.claims['email'], all.claims['name']], ['ann@school.example', 'Ann']);
});

test('at_hash is the left half of the hash that belongs to the algorithm', async (t) => {
  for (const [algorithm, hash] of [
    ['ES256', 'sha256'],
    ['EdDSA', 'sha512'],
  ] as const) {
    const { access_token: token, claims } = await signInWith({ openid: { algorithm } });
    const digest = createHash(hash).update(token).digest();
    t.is(claims['at_hash'], digest.subarray(0, digest.length / 2).toString('base64url'), algorithm);
  }
});

test('the host is asked for claims only where some are wanted, and members of another type are no claims', async (t) => {
  const asked: unknown[] = [];
  const claims: NonNullable<Exclude<Given['openid'], boolean | undefined>['claims']> = (user) => {
    asked.push(user.id);
    return {};
  };
  const users = people();
  Object.assign(users.all[0]!, { picture: 7, locale: ['en'] });
  await signInWith({ openid: { ...OPENID, claims }, users }, { scope: 'openid' });
  t.deepEqual(asked, []);
  const { claims: found } = await signInWith({ openid: { ...OPENID, claims, claimsInIdToken: true }, users });
  t.deepEqual(asked, ['1']);
  t.is(found['name'], 'Ann');
  t.false('picture' in found || 'locale' in found);
});

test('acr and amr are announced where the host says them', async (t) => {
  for (const authenticationContext of [undefined, () => ({ acr: 'urn:mfa' })]) {
    await using platform = await startPlatform({ openid: { ...OPENID, authenticationContext } });
    const { body } = await send(platform.url('/.well-known/openid-configuration'));
    const supported = body!['claims_supported'] as string[];
    for (const name of ['acr', 'amr'])
      t.is(supported.includes(name), authenticationContext !== undefined, name);
  }
});
