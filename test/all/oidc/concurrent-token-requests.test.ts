import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabase } from '../../adapters/databases.ts';
import { authorize, runCodeFlow, startPlatform } from '../../harness/platform.ts';
import type { Platform, RegisteredApp } from '../../harness/platform.ts';
import { postJson } from '../../harness/requests.ts';
import { asClient } from '../../harness/tokens.ts';
import { startProcess } from '../../oidc/nodes.ts';
import type { NodeSettings } from '../../oidc/nodes.ts';

const REQUESTS = 40;

const processes = Array.from({ length: 2 }, startProcess);
test.after.always('end the processes', async () => {
  await Promise.all(processes.map(async (one) => one[Symbol.asyncDispose]()));
});

interface Answer {
  readonly status: number;
  readonly error: unknown;
  readonly refresh: unknown;
}

/** The nodes of the processes, until they are disposed. */
async function openNodes(
  settings: NodeSettings,
): Promise<{ readonly origins: readonly string[] } & AsyncDisposable> {
  const nodes = await Promise.all(processes.map(async (one) => one.open(settings)));
  return {
    origins: nodes.map(({ origin }) => origin),
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(async (node) => node[Symbol.asyncDispose]()));
    },
  };
}

/** Sends the same token request concurrently, distributed over the nodes. */
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
  return refreshOf(app, (await runCodeFlow(platform, app)).body.refresh_token);
}

function refreshOf(app: RegisteredApp, token: unknown): Record<string, unknown> {
  return { grant_type: 'refresh_token', ...asClient(app), refresh_token: token };
}

/** Asserts that one request succeeded; returns its refresh token. */
function onlySuccess(t: ExecutionContext, answers: readonly Answer[]): unknown {
  const successes = answers.filter(({ status }) => status === 200);
  t.is(successes.length, 1);
  for (const { status, error } of answers.filter((answer) => !successes.includes(answer))) {
    t.deepEqual([status, error], [400, 'invalid_grant']);
  }
  return successes[0]?.refresh;
}

/** Asserts that all requests got the same refresh token; returns it. */
function sameSuccessor(t: ExecutionContext, answers: readonly Answer[]): unknown {
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.is(new Set(answers.map(({ refresh }) => refresh)).size, 1);
  return answers[0]?.refresh;
}

onEachDatabase(
  `of ${REQUESTS} concurrent code exchanges one succeeds, and refreshes get one successor, in two processes`,
  async (t, _, address) => {
    await using platform = await startPlatform({ storage: knexStorage(address) });
    const app = await platform.registerApp({ firstParty: true });
    await using nodes = await openNodes({ address, issuer: platform.origin });
    const code = await codeRequest(platform, app);
    const ofCode = onlySuccess(t, await race(nodes.origins, code));
    // A later use of the code revokes the tokens.
    t.is((await platform.token(code)).body.error, 'invalid_grant');
    t.is((await platform.token(refreshOf(app, ofCode))).body.error, 'invalid_grant');
    const successor = sameSuccessor(t, await race(nodes.origins, await refreshRequest(platform, app)));
    t.is((await platform.token(refreshOf(app, successor))).status, 200);
  },
);

onEachDatabase(
  `of ${REQUESTS} concurrent refreshes without grace one succeeds, in two processes`,
  async (t, _, address) => {
    const tokens = { refreshGrace: 0 };
    await using platform = await startPlatform({ storage: knexStorage(address), tokens });
    const app = await platform.registerApp({ firstParty: true });
    await using nodes = await openNodes({ address, issuer: platform.origin, tokens });
    const request = await refreshRequest(platform, app);
    const successor = onlySuccess(t, await race(nodes.origins, request));
    t.is((await platform.token(request)).body.error, 'invalid_grant');
    t.is((await platform.token(refreshOf(app, successor))).body.error, 'invalid_grant');
  },
);
