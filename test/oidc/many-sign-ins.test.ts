import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { hashCredential } from '../../lib/keys/hash.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { exchangeRefreshToken, REFUSED_GRANT } from '../harness/tokens.ts';

/** Stores 200 sign-ins of Ann at an app, a minute apart, with the refresh tokens `token 1`, the oldest one, to `token 200`. */
async function addSignIns({ grants, revocations }: Storage, { client }: RegisteredApp): Promise<void> {
  const sequence = await revocations.latestSequence();
  const now = Math.floor(Date.now() / 1000);
  for (let number = 1; number <= 200; number += 1) {
    const id = `grant ${number}`;
    const createdAt = now - 60 * (201 - number);
    const expiresAt = now + 3600;
    const grant = {
      id,
      userId: '1',
      clientId: client.id,
      scopes: undefined,
      createdAt,
      expiresAt,
      revokedAt: undefined,
      sequence,
      origin: undefined,
      sessionUid: undefined,
    };
    await grants.insert(grant, {
      kind: 'refresh_token',
      id: hashCredential(`token ${number}`),
      grantId: id,
      payload: {},
      expiresAt,
      consumedAt: undefined,
      sealedSuccessor: undefined,
    });
  }
}

async function isBounded(t: ExecutionContext, storage: Storage, other = storage): Promise<void> {
  await using here = await startPlatform({ storage });
  await using there = await startPlatform({ storage: other, issuer: here.origin });
  const app = await here.registerApp({ firstParty: true });
  const otherApp = await here.registerApp({ firstParty: true });
  await addSignIns(storage, app);
  const browser = new Browser();
  const signIn = async (node: Platform, at = app): Promise<string> =>
    (await runCodeFlow(node, at, { browser })).body.refresh_token;
  const live = async (): Promise<number> => {
    const all = await storage.grants.list('1', { now: 0, limit: 1000 });
    return all.filter(({ clientId }) => clientId === app.client.id).length;
  };
  const refresh = async (token: string): Promise<object> =>
    (await exchangeRefreshToken(there, app, token)).body;

  await storage.grants.touch('grant 1', Math.floor(Date.now() / 1000));
  await signIn(here, otherApp);
  t.is(await live(), 200);
  t.like(await refresh('token 2'), { token_type: 'Bearer' });
  const first = await signIn(here);
  t.is(await live(), 200);
  t.deepEqual(await refresh('token 2'), REFUSED_GRANT, 'it was not used for the longest time');
  t.like(await refresh('token 1'), { token_type: 'Bearer' }, 'it was used');
  const types = ['tokens_revoked'] as const;
  const [event, ...more] = await here.auth.audit.list({ types });
  t.like(event, { target: 'grant', userId: '1', clientId: app.client.id, grantId: 'grant 2' });
  t.is(more.length, 0);

  const nodes = [here, there];
  const tokens = await Promise.all(Array.from({ length: 12 }, async (_, index) => signIn(nodes[index % 2]!)));
  t.is(await live(), 200);
  t.deepEqual(await refresh('token 14'), REFUSED_GRANT);
  for (const token of [...tokens, first, 'token 15', 'token 200'])
    t.like(await refresh(token), { token_type: 'Bearer' }, token);
}

onEachDatabase(
  'a user has 200 grants for an app: of more, those end that were not used for the longest time',
  async (t, _, address) => isBounded(t, knexStorage(address), knexStorage(address)),
);

test('in memory too, a user has 200 grants for an app', async (t) => isBounded(t, memoryStorage()));
