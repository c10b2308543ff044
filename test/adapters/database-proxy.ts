import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';

import { listenOn } from '../harness/serve.ts';

/** A TCP proxy between a host and a database server. */
export interface DatabaseProxy extends AsyncDisposable {
  /** The server's address through the proxy. */
  readonly address: string;
  /** Stops forwarding in both directions, on open and new connections. */
  freeze(): void;
  /** Forwards new connections again; the old ones stay frozen. */
  thaw(): void;
  /** New connections lead to the server with this address; the old ones stay where they are. */
  leadTo(address: string): void;
  /** What hosts have sent since then, or since the start, to the server that new connections lead to. */
  sent(): string;
}

export async function startDatabaseProxy(serverAddress: string): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>();
  let target = new URL(serverAddress);
  let sent: Buffer[] = [];
  let isFrozen = false;

  const server = createServer((near) => {
    sockets.add(near);
    near.on('error', () => {});
    if (isFrozen) return;
    const port = Number(target.port || (target.protocol.startsWith('postgres') ? 5432 : 3306));
    const far = connect(port, target.hostname);
    sockets.add(far);
    far.on('error', () => {});
    const sentThere = sent;
    near.on('data', (data) => sentThere.push(data));
    near.pipe(far).pipe(near);
  });
  const listening = await listenOn(server);

  const address = new URL(serverAddress);
  address.hostname = '127.0.0.1';
  address.port = String(listening.port);
  return {
    address: address.href,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    thaw() {
      isFrozen = false;
    },
    leadTo(other) {
      target = new URL(other);
      sent = [];
    },
    sent: () => Buffer.concat(sent).toString('latin1'),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await listening[Symbol.asyncDispose]();
    },
  };
}
