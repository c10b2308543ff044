import test from '../harness/test.ts';
import { agents } from 'koa-gatehouse';

import { connect, serveDocument, startWithDocuments } from '../agents/documents.ts';
import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import { idJag, JWT_BEARER, lastReason, trusting } from './identity-provider.ts';

test('an app with a metadata document and keys, before and after somebody has authorized it', async (t) => {
  const features = [
    agents({ documents: { scopes: ['schools:read'] }, registration: false }),
    await trusting(),
  ];
  const platform = await startWithDocuments(t, {}, { clients: { privateKeyJwt: true }, features });
  const pair = await makeKeyPair();
  const members = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [pair.publicJwk] } };
  const { id } = await serveDocument(t, members);
  const authentication = async () => assertionParameters(id, platform.origin, pair);
  const ask = async (sub: string) =>
    platform.token({
      grant_type: JWT_BEARER,
      client_id: id,
      assertion: await idJag(platform, { client: { id } }, { sub }),
      ...(await authentication()),
    });
  const refused = await ask('ann');
  t.is(refused.status, 401);
  t.deepEqual(refused.body as object, {
    error: 'invalid_client',
    error_description:
      'no key of the client verifies the client assertion; check the client_id (iss and sub), the key id (kid) and the registered keys; an app whose id is a URL is known here once a user has authorized it',
  });
  t.is(
    await lastReason(platform),
    'client not found; an app whose id is a URL is known here once a user has authorized it',
  );
  // Nothing was spent, and nothing is stored of an app that only its own document describes.
  t.is(await platform.auth.clients.find(id), undefined);
  t.is((await connect(platform, id, { authentication })).status, 200);
  t.is((await ask('bob')).status, 200);
  t.like((await platform.auth.userGrants.list('2')).clients[0], { allowedBy: ['idp.district.example'] });
});
