import { connect } from 'node:net';

import { Pool } from 'undici';

import type { BrokenHttp } from './broken-http.ts';
import type { SweptRequest } from './edits.ts';

export interface SweptAnswer {
  readonly status: number;
  /** By name in lower case; an array for repeated fields. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

// In milliseconds. A response that takes longer is a failure.
const TIMEOUT = 10_000;

/** Sends requests over a pool of connections, and bytes over a new connection each. */
export interface Sender extends AsyncDisposable {
  request(request: SweptRequest): Promise<SweptAnswer>;
  /** The bytes that the server sent before it closed the connection. */
  bytes(bytes: BrokenHttp): Promise<string>;
}

export function createSender(origin: string): Sender {
  const pool = new Pool(origin, {
    connections: 20,
    headersTimeout: TIMEOUT,
    bodyTimeout: TIMEOUT,
    maxHeaderSize: 65_536,
  });
  const { hostname, port } = new URL(origin);
  return {
    async request({ method, path, headers, body }) {
      const answer = await pool.request({
        method,
        path,
        headers,
        body: body === undefined ? null : Buffer.from(body, 'latin1'),
      });
      return { status: answer.statusCode, headers: answer.headers, body: await answer.body.text() };
    },
    async bytes({ bytes }) {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      const received: Buffer[] = [];
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      socket.setTimeout(TIMEOUT, () => {
        reject(new Error(`Neither answered nor closed after ${TIMEOUT} ms`));
        socket.destroy();
      });
      socket.on('data', (data) => received.push(data));
      // A reset is followed by `close`.
      socket.on('error', () => {});
      socket.on('close', () => resolve(Buffer.concat(received).toString('latin1')));
      socket.on('end', () => socket.end());
      socket.end(bytes, 'latin1');
      return promise;
    },
    async [Symbol.asyncDispose]() {
      await pool.destroy();
    },
  };
}
