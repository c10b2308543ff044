import { createServer } from 'node:net';
import type { Socket } from 'node:net';

import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { people, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { endWith, listenOn } from '../harness/serve.ts';

/** A packet of MariaDB's and MySQL's protocol. */
function packet(number: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([content.length, 0, 0, number]), content]);
}

/** Version 10 of the protocol, of a server that takes a scrambled password. */
const GREETING = packet(
  0,
  Buffer.concat([
    Buffer.from('\n8.0.0\0'),
    Buffer.alloc(4 + 8 + 1, 1), // the connection's number, and the beginning of the scramble
    Buffer.from([0x08, 0x82, 45, 2, 0, 0x08, 0, 21]), // capabilities, with the character set and the status among them
    Buffer.alloc(10 + 13, 1), // the rest of the scramble
    Buffer.from('mysql_native_password\0'),
  ]),
);
const SIGNED_IN = packet(2, Buffer.from([0, 0, 0, 2, 0, 0, 0]));
/** Says that there was no error, and then nothing. */
const BEGUN_ANSWER = packet(1, Buffer.from([0]));

/**
 * How a connection to a server of MariaDB or MySQL ends, instead of with a greeting or with the answer to a statement, by what mysql2
 * calls it.
 */
const ENDS: Readonly<Record<string, (socket: Socket) => void>> = {
  // As an answer of a member of a cluster that is killed may.
  ERR_OUT_OF_RANGE: (socket) => socket.write(packet(0, Buffer.from('\n'))),
  // As a member of a cluster may that ends a transaction for one of another member. To the statement itself it is another error.
  "Can't add new command when connection is in closed state": (socket) => {
    socket.write(GREETING);
    socket.once('data', () => {
      socket.write(SIGNED_IN);
      socket.on('data', () => socket.write(BEGUN_ANSWER));
    });
  },
  PROTOCOL_CONNECTION_LOST: (socket) => socket.end(),
  ECONNRESET: (socket) => socket.resetAndDestroy(),
};

/** mysql2 prints where it was. */
function withoutTrace(t: ExecutionContext): void {
  const { trace } = console;
  console.trace = () => {};
  t.teardown(() => {
    console.trace = trace;
  });
}

/** The address of a server that ends each connection so. */
async function serverThat(t: ExecutionContext, end: (socket: Socket) => void): Promise<string> {
  withoutTrace(t);
  const server = createServer((socket) => {
    socket.on('error', () => {});
    end(socket);
  });
  return `mysql://app@127.0.0.1:${endWith(t, await listenOn(server)).port}/app`;
}

for (const [name, end] of Object.entries(ENDS)) {
  test.serial(`a connection that ends with ${name} is one that broke, in one line`, async (t) => {
    const address = await serverThat(t, end);
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    const error = await t.throwsAsync(storage.clients.find('timetable'), { code: 'ERR_STORAGE' });
    t.is(
      error?.message.replace(` ${new URL(address).host}`, ''),
      `The database could not be used (${name}): the connection broke before the answer was complete.`,
    );
  });

  test.serial(
    `where the database of the host ends connections with ${name}, requests that need it get 503`,
    async (t) => {
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
    },
  );
}
