import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../adapters/databases.ts';
import { authorize, connect, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { asClient } from './families.ts';
import { startNodes } from './nodes.ts';

const REQUESTS = 100;

interface Answer {
  readonly status: number;
  readonly error: unknown;
  readonly refresh: unknown;
}

/** Sends the same token request many times at once, to the nodes in turn. */
async function race(origins: readonly string[], parameters: Record<string, unknown>): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: REQUESTS }, async (_, index) => {
      const { status, body } = await postJson(`${origins[index % origins.length]}/oauth/token`, parameters);
      const { error, refresh_token: refresh } = body as Record<string, unknown>;
      return { status, error, refresh };
    }),
  );
}

async function codeRequest(platform: Platform, app: RegisteredApp): Promise<Record<string, unknown>> {
  const code = (await authorize(platform, app)).get('code');
  return { grant_type: 'authorization_code', ...asClient(app), redirect_uri: app.redirectUri, code };
}

async function refreshRequest(platform: Platform, app: RegisteredApp): Promise<Record<string, unknown>> {
  const { body } = await connect(platform, app);
  return { grant_type: 'refresh_token', ...asClient(app), refresh_token: body.refresh_token };
}

function oneWinner(t: ExecutionContext, answers: readonly Answer[]): void {
  const winners = answers.filter(({ status }) => status === 200);
  t.is(winners.length, 1);
  for (const { status, error } of answers.filter((answer) => !winners.includes(answer))) {
    t.deepEqual([status, error], [400, 'invalid_grant']);
  }
}

function sameSuccessor(t: ExecutionContext, answers: readonly Answer[]): void {
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.is(new Set(answers.map(({ refresh }) => refresh)).size, 1);
}

const PLACES: Readonly<
  Record<
    string,
    (
      address: string,
      issuer: string,
    ) => Promise<{ readonly origins: readonly string[] } & Partial<AsyncDisposable>>
  >
> = {
  'one process': async (_address, issuer) => ({ origins: [issuer] }),
  'four processes': async (address, issuer) => startNodes(4, { address, issuer }),
};

for (const [place, start] of Object.entries(PLACES)) {
  onEachDatabase(`${REQUESTS} token requests at once have one winner, in ${place}`, async (t, _, address) => {
    await using platform = await startPlatform({ storage: knexStorage(address) });
    const app = await platform.registerApp({ firstParty: true });
    const nodes = await start(address, platform.origin);
    try {
      oneWinner(t, await race(nodes.origins, await codeRequest(platform, app)));
      sameSuccessor(t, await race(nodes.origins, await refreshRequest(platform, app)));
    } finally {
      await nodes[Symbol.asyncDispose]?.();
    }
  });
}
