import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** With what comes after the running requests, the process ends within 2 s. */
const GRACE = 1500;

/**
 * Makes a way to stop a server that lets running requests end and waits for nothing else.
 *
 * Call it before the server listens. `server.close()` alone would wait for browsers that hold a connection open
 * without asking for anything.
 *
 * @param grace - how long running requests may take, in milliseconds
 */
export function gracefulStop(server: Server, grace: number = GRACE): () => Promise<void> {
  const sockets = new Set<Socket>();
  const responses = new Set<ServerResponse>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', (_request, response: ServerResponse) => {
    responses.add(response);
    response.once('close', () => responses.delete(response));
  });

  return async function stop() {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    for (const response of responses) {
      // Ends the connection after the response, and tells the client so.
      if (!response.headersSent) response.setHeader('Connection', 'close');
      response.once('close', () => response.req.socket.destroySoon());
    }
    const running = new Set(Array.from(responses, (response) => response.req.socket));
    for (const socket of sockets) if (!running.has(socket)) socket.destroy();
    const limit = setTimeout(() => server.closeAllConnections(), grace);
    await closed;
    clearTimeout(limit);
  };
}

/** Stops on SIGTERM and SIGINT, then ends the process. */
export function stopOnSignals(stop: () => Promise<void>): void {
  let stopping: Promise<void> | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // npm passes on the Ctrl-C that the terminal has already sent to every process, so a second one says nothing new.
      stopping ??= stop().then(() => process.exit());
    });
  }
}
