import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';

const pair = await makeKeyPair();

async function nodeOn(t: ExecutionContext, address: string, issuer?: string): Promise<Platform> {
  const storage = knexStorage(address);
  const node = await startPlatform({
    storage,
    clients: { keys: true },
    limits: { attempts: false },
    ...(issuer === undefined ? {} : { issuer }),
  });
  t.teardown(async () => {
    await node[Symbol.asyncDispose]();
    await storage.close();
  });
  return node;
}

onEachDatabase(
  'an assertion that one node has accepted is refused by the other',
  async (t, _database, address) => {
    const here = await nodeOn(t, address);
    const there = await nodeOn(t, address, here.auth.issuer);
    const keys = { jwks: { keys: [pair.publicJwk] } };
    const { client } = await here.auth.clients.create({
      name: 'Nightly',
      grantType: 'client_credentials',
      keys,
    });
    t.deepEqual((await there.auth.clients.find(client.id))?.keys, keys);

    const assertion = async (): Promise<Record<string, string>> => ({
      grant_type: 'client_credentials',
      ...(await assertionParameters(client.id, here.auth.issuer, pair)),
    });
    const once = await assertion();
    t.is((await here.token(once)).status, 200);
    const { body, status } = await there.token(once);
    t.deepEqual(
      { status, body },
      {
        status: 401,
        body: {
          error: 'invalid_client',
          error_description:
            'the client assertion was used before; make a new one, with a new jti, for each request',
        } as typeof body,
      },
    );

    for (let round = 0; round < 3; round += 1) {
      const raced = await assertion();
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => (index % 2 === 0 ? here : there).token(raced)),
      );
      t.is(answers.filter((answer) => answer.status === 200).length, 1);
      t.is(answers.filter((answer) => answer.status === 401).length, 19);
    }
  },
);
