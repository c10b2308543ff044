import { connect } from 'node:net';

import { Pool } from 'undici';

import type { BrokenHttp } from './broken-http.ts';
import type { SweptRequest } from './edits.ts';

/** What came back. */
export interface SweptAnswer {
  readonly status: number;
  /** By name in lower case; of repeated ones, all. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

// In milliseconds: an answer that takes longer is none.
const PATIENCE = 10_000;

/** Sends requests over connections that are kept, and bytes over one connection each. */
export interface Sender extends AsyncDisposable {
  request(request: SweptRequest): Promise<SweptAnswer>;
  /** What the server said before it closed the connection; nothing, if it only closed it. */
  bytes(bytes: BrokenHttp): Promise<string>;
}

export function createSender(origin: string): Sender {
  const pool = new Pool(origin, {
    connections: 20,
    headersTimeout: PATIENCE,
    bodyTimeout: PATIENCE,
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
      socket.setTimeout(PATIENCE, () => {
        reject(new Error(`Neither answered nor closed after ${PATIENCE} ms`));
        socket.destroy();
      });
      socket.on('data', (data) => received.push(data));
      // A connection that was reset was closed.
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
