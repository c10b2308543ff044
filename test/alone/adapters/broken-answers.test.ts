import { createServer } from 'node:net';
import type { Socket } from 'node:net';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { people, runCodeFlow, startPlatform } from '../../harness/platform.ts';
import { endWith, listenOn } from '../../harness/serve.ts';

/** How a connection to a server of MariaDB or MySQL ends instead of a greeting. */
const ENDS: Readonly<Record<string, (socket: Socket) => void>> = {
  // The greeting ends after its first byte, as an answer of a member of a cluster that is killed may.
  ERR_OUT_OF_RANGE: (socket) => socket.write(Buffer.from([1, 0, 0, 0, 10])),
  PROTOCOL_CONNECTION_LOST: (socket) => socket.end(),
  ECONNRESET: (socket) => socket.resetAndDestroy(),
};

/** The address of a server that ends each connection so. */
async function serverThat(t: ExecutionContext, end: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    end(socket);
  });
  return `mysql://app@127.0.0.1:${endWith(t, await listenOn(server)).port}/app`;
}

for (const [code, end] of Object.entries(ENDS)) {
  test(`a connection that ends with ${code} is one that broke, in one line`, async (t) => {
    const address = await serverThat(t, end);
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    const error = await t.throwsAsync(storage.clients.find('timetable'), { code: 'ERR_STORAGE' });
    t.is(
      error?.message.replace(` ${new URL(address).host}`, ''),
      `The database could not be used (${code}): the connection broke before the answer was complete.`,
    );
  });

  test(`where the database of the host ends connections with ${code}, requests that need it get 503`, async (t) => {
    const log = { warn() {} };
    const host = knex({ client: 'mysql2', connection: await serverThat(t, end), log });
    t.teardown(async () => host.destroy());
    const users = people();
    await using platform = await startPlatform({ users });
    const app = await platform.registerApp({ firstParty: true });
    const { body } = await runCodeFlow(platform, app);
    users.find = async (id) => host('people').first().where({ id });
    const answer = await platform.api('/identity', body.access_token);
    t.deepEqual([answer.status, answer.body['code']], [503, 'temporarily_unavailable']);
  });
}
