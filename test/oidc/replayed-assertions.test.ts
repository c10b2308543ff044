import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import { startPlatform } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async () => {
  const pair = await makeKeyPair();
  return { pair };
});

const options = { clients: { privateKeyJwt: true }, limits: { attempts: false } } as const;

onEachDatabase('an assertion that one node has accepted is refused by the other', async (t, _, address) => {
  const { pair } = await started();
  await using here = await startPlatform({ ...options, storage: knexStorage(address) });
  const { issuer } = here.auth;
  await using there = await startPlatform({ ...options, storage: knexStorage(address), issuer });
  const keys = { jwks: { keys: [pair.publicJwk] } };
  const fields = { name: 'Nightly', grantType: 'client_credentials', keys } as const;
  const { client } = await here.auth.clients.create(fields);
  t.deepEqual((await there.auth.clients.find(client.id))?.keys, keys);
  const assertion = async (): Promise<Record<string, string>> => ({
    grant_type: 'client_credentials',
    ...(await assertionParameters(client.id, issuer, pair)),
  });

  const once = await assertion();
  t.is((await here.token(once)).status, 200);
  const { body, status } = await there.token(once);
  t.is(status, 401);
  t.deepEqual(body as object, {
    error: 'invalid_client',
    error_description:
      'the client assertion was used before; make a new one, with a new jti, for each request',
  });

  for (let round = 0; round < 2; round += 1) {
    const raced = await assertion();
    const answers = await Promise.all(
      Array.from({ length: 10 }, async (_value, index) => (index % 2 === 0 ? here : there).token(raced)),
    );
    t.is(answers.filter((answer) => answer.status === 200).length, 1);
    t.is(answers.filter((answer) => answer.status === 401).length, 9);
  }
});
