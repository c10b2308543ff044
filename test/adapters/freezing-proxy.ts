import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';

import { listenOn } from '../harness/serve.ts';

/** A proxy in front of a database server that can stop forwarding without closing connections. */
export interface FreezingProxy {
  /** The server's address through the proxy. */
  readonly address: string;
  /** Stops forwarding in both directions, on open and new connections. */
  freeze(): void;
  /** Forwards new connections again; the old ones stay frozen. */
  thaw(): void;
  close(): void;
}

export async function freezingProxy(serverAddress: string): Promise<FreezingProxy> {
  const target = new URL(serverAddress);
  const port = Number(target.port || (target.protocol.startsWith('postgres') ? 5432 : 3306));
  const sockets = new Set<Socket>();
  let isFrozen = false;

  const server = createServer((near) => {
    sockets.add(near);
    near.on('error', () => {});
    if (isFrozen) return;
    const far = connect(port, target.hostname);
    sockets.add(far);
    far.on('error', () => {});
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
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
