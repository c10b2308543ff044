import { once } from 'node:events';

import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import { defineAction } from 'koa-gatehouse';
import { z } from 'zod';

import { onEachScratchServer } from '../../adapters/scratch-server.ts';
import { Browser } from '../../harness/browser.ts';
import { people, runCodeFlow, signIn, startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { exchangeRefreshToken } from '../../harness/tokens.ts';
import { callTool, createSchools, gate, startAgentServer } from '../../mcp/agents.ts';
import type { AgentServer } from '../../mcp/agents.ts';
import { endWith } from '../../harness/serve.ts';

/** A platform whose users are in a database of the host, and which asks the user store for each request. */
async function withUsersIn(
  t: ExecutionContext,
  database: Knex,
  read: (id: string) => Promise<unknown>,
): Promise<Platform> {
  const inMemory = people();
  const users = {
    ...inMemory,
    async find(id: string) {
      await read(id);
      return inMemory.find(id);
    },
    async verifyPassword(login: string, password: string) {
      await database.raw('select 1');
      return inMemory.verifyPassword(login, password);
    },
  };
  const platform = endWith(t, await startPlatform({ users, tokens: { revocationLag: 1 } }));
  return platform;
}

/** A server with an action, which is a tool too, on a database of the host. */
async function withActionOn(t: ExecutionContext, database: Knex): Promise<AgentServer> {
  const count = defineAction({
    gate,
    type: 'school',
    name: 'count-schools-action',
    level: 'collection',
    title: 'Count the schools',
    permission: 'view_schools',
    mcp: 'count_schools',
    input: z.object({}),
    output: z.number(),
    async run() {
      await database.raw('select 1');
      return 2;
    },
  });
  return startAgentServer(t, { schools: { ...createSchools(), actions: [count] } });
}

function errorsOf({ logger }: Pick<Platform, 'logger'>): Error[] {
  return logger.lines.flatMap(({ level, fields }) =>
    level === 'error' && 'err' in fields ? [fields.err as Error] : [],
  );
}

onEachScratchServer(
  "while the host's own database is away, everything that needs it answers 503, with a line for each cause, without the query or its values",
  async (t, server, kind) => {
    const database = knex({
      client: kind.client,
      connection: server.address,
      acquireConnectionTimeout: 2000,
      pool: { min: 0, max: 2 },
      log: { warn() {}, error() {} },
    });
    t.teardown(async () => database.destroy());
    const platform = await withUsersIn(t, database, async (id) => database.raw('select ?', [id]));
    const agents = await withActionOn(t, database);
    const app = await platform.registerApp({ firstParty: true });
    const agentToken = await agents.token();
    const apiToken = await agents.auth.issueToken({ clientId: agents.clientId, userId: 'ann' });
    const runAction = async (): Promise<Response> =>
      fetch(`${agents.origin}/api/v1/actions/school/count-schools-action`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiToken}`, 'content-type': 'application/json' },
        body: '{}',
      });

    // Twice, because connections of a pool are lost differently from those that cannot be made.
    for (const round of [1, 2]) {
      const tokens = await Promise.all([1, 2].map(async () => (await runCodeFlow(platform, app)).body));
      t.is((await runAction()).status, 200);
      const browser = new Browser();
      const form = await browser.open(platform.url('/oauth/login'));
      for (const { logger } of [platform, agents]) logger.lines.length = 0;

      await server.kill();
      for (const { access_token: token, refresh_token: refreshToken } of tokens) {
        const guarded = await platform.api('/identity', token);
        t.like(guarded, {
          status: 503,
          body: {
            code: 'temporarily_unavailable',
            message: 'The server cannot answer right now. Try again in a few seconds.',
          },
        });
        const refreshed = await exchangeRefreshToken(platform, app, refreshToken);
        const acted = await runAction();
        const called = await callTool(agents, agentToken, 'count_schools', {});
        t.is((called.body as { code?: string }).code, 'temporarily_unavailable');
        for (const [{ status, headers }, after] of [
          [guarded, '5'],
          [refreshed, '1'],
          [acted, '5'],
          [called, '5'],
        ] as const)
          t.deepEqual([status, headers.get('retry-after')], [503, after]);
      }
      t.is((await signIn(browser, form)).status, 503);

      for (const failing of [platform, agents]) {
        const causes = errorsOf(failing).map(String);
        // In the second round their lines have been written some seconds ago.
        t.true(round === 2 || causes.length > 0);
        t.is(new Set(causes).size, causes.length, causes.join('\n'));
      }

      await server.start();
      t.is((await runAction()).status, 200, `round ${round}`);
      t.is((await platform.api('/identity', tokens[0]!.access_token)).status, 200);
    }

    // A query is running meanwhile. For some seconds, the other platform would not log the same cause again.
    const sleep = kind.client === 'pg' ? 'pg_sleep' : 'sleep';
    let isSlow = false;
    const slow = await withUsersIn(t, database, async (id) =>
      database.raw(isSlow ? `select ${sleep}(30), ?` : 'select ?', [`secret of ${id}`]),
    );
    const slowApp = await slow.registerApp({ firstParty: true });
    const { body } = await runCodeFlow(slow, slowApp);
    isSlow = true;
    const running = once(database, 'query');
    const answers = [
      slow.api('/identity', body.access_token),
      exchangeRefreshToken(slow, slowApp, body.refresh_token),
    ];
    await running;
    await server.kill();
    for (const { status } of await Promise.all<{ status: number }>(answers)) t.is(status, 503);
    const failures = errorsOf(slow);
    t.true(failures.length > 0);
    for (const { message, stack } of failures) t.notRegex(`${message} ${stack}`, /secret of|sleep/);
  },
);
