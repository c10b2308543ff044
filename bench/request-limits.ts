// What limits of requests cost: a guarded route with and without them, in one process, in turn. Run by hand, it takes half a minute:
//   npx node --conditions=gatehouse:source bench/request-limits.ts [database address] [users]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import Koa from 'koa';
import { createApiRouter, createAuthServer } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

// Short turns, so that other load of the machine affects both alike.
const ROUNDS = 60;
const WARM_UP = 20;
const REQUESTS = 500;
const CONNECTIONS = 16;
const WAYS = ['off', 'on'] as const;

interface Load {
  readonly url: string;
  readonly tokens: readonly string[];
}

// The load comes from a process of its own, whose CPU time does not count. An error ends it.
if (process.send) process.on('message', (load: Load) => void send(load).then(() => process.send!('done')));
else await measure(process.argv[2], Number(process.argv[3] ?? 100));

async function send({ url, tokens }: Load): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let sent = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (sent < REQUESTS) {
        sent += 1;
        const headers = { authorization: `Bearer ${tokens[sent % tokens.length]}` };
        const [answer] = await once(get(url, { agent, headers }), 'response');
        if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`);
        await once(answer.resume(), 'end');
      }
    }),
  );
  agent.destroy();
}

async function measure(address: string | undefined, users: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-limits-'));
  const storage = knexStorage(address ?? `sqlite:${join(folder, 'bench.sqlite')}`);
  await storage.migrate();
  const writes = { count: 0 };
  const auth = await createAuthServer({
    issuer: 'http://127.0.0.1:3000',
    storage: countingWrites(storage, writes),
    users: { verifyPassword: async () => undefined, find: async (id) => ({ id }) },
  });
  const app = new Koa();
  const window = '1 minute';
  // Higher than the load: no request is refused.
  const limits = {
    user: { requests: Math.ceil(2_000_000 / users), window },
    client: { requests: 2_000_000, window },
  } as const;
  for (const way of WAYS) {
    const api = createApiRouter({ auth, prefix: `/${way}`, ...(way === 'on' && { limits }) });
    app.use(api.routes());
  }
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { client } = await auth.clients.create({
    name: 'Bench',
    grantType: 'authorization_code',
    redirectUris: ['https://app.example/callback'],
  });
  const tokens = await Promise.all(
    Array.from({ length: users }, async (_, index) =>
      auth.issueToken({ clientId: client.id, userId: String(index) }),
    ),
  );
  const child = fork(import.meta.filename, { execArgv: process.execArgv });
  const ended = once(child, 'exit').then(() => {
    throw new Error('The load has ended early');
  });
  ended.catch(() => {});
  const cpu: Record<(typeof WAYS)[number], number[]> = { off: [], on: [] };
  writes.count = 0;
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
      const before = process.cpuUsage();
      child.send({ url: `${origin}/${way}/identity`, tokens } satisfies Load);
      await Promise.race([once(child, 'message'), ended]);
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) cpu[way].push((user + system) / REQUESTS);
    }
  }
  const [off, on] = [median(cpu.off), median(cpu.on)];
  const ratio = median(cpu.on.map((value, round) => value / cpu.off[round]!));
  const perThousand = writes.count / (((WARM_UP + ROUNDS) * REQUESTS) / 1000);
  console.log(`without limits: ${off.toFixed(1)} us of CPU for a request`);
  console.log(`with two limits: ${on.toFixed(1)} us, ${ratio.toFixed(2)} times as much`);
  console.log(`${perThousand.toFixed(1)} writes for 1,000 requests of ${users} users`);
  child.disconnect();
  server.close();
  await auth.close();
  await storage.close();
  await rm(folder, { recursive: true });
}

function countingWrites(storage: Storage, writes: { count: number }): Storage {
  const { attempts } = storage;
  return {
    ...storage,
    attempts: {
      ...attempts,
      async reserve(...given) {
        writes.count += 1;
        return attempts.reserve(...given);
      },
    },
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
