import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long a stopping server waits, in milliseconds. */
export interface Grace {
  /** For requests that it is working on. @default 7000 */
  readonly running?: number;
  /** For requests that have not arrived whole: nothing has been done for them yet. @default 1000 */
  readonly arriving?: number;
}

// In milliseconds. A database that does not answer takes some seconds to be given up; nothing may keep the process for ever.
const LIMIT = 20_000;

/**
 * Makes a way to stop a server that lets running requests end and waits for nothing else.
 *
 * Call it before the server listens. `server.close()` alone would wait for browsers that hold a connection open
 * without asking for anything.
 */
export function gracefulStop(
  server: Server,
  { running = 7000, arriving = 1000 }: Grace = {},
): () => Promise<void> {
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
    const busy = new Set(Array.from(responses, (response) => response.req.socket));
    for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
    const limits = [
      setTimeout(() => {
        for (const { req } of responses) if (!req.complete) req.socket.destroy();
      }, arriving),
      setTimeout(() => server.closeAllConnections(), running),
    ];
    await closed;
    for (const limit of limits) clearTimeout(limit);
  };
}

/**
 * Stops on SIGTERM and SIGINT, and on an error that nobody has caught, then ends the process: with 0, or with 1 after an
 * error. Nobody knows what state an uncaught error has left, so whatever started the process starts it again.
 */
export function stopOnSignals(stop: () => Promise<void>): void {
  let stopping: Promise<void> | undefined;

  function end(): void {
    // npm passes on the Ctrl-C that the terminal has already sent to every process, so a second one says nothing new.
    stopping ??= stop()
      .catch((error: unknown) => fail('Stopping failed', error))
      .then(() => process.exit());
    setTimeout(() => process.exit(1), LIMIT).unref();
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  // Rejections that nobody handles come here too.
  process.on('uncaughtException', (error) => {
    fail('An error that nobody caught', error);
    end();
  });
}

function fail(what: string, error: unknown): void {
  process.exitCode = 1;
  process.stderr.write(`${what}: ${describeFault(error)}\n`);
}

/** Where an error was thrown. Its message is left out: it may hold what a request has sent. */
function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  const frames = error.stack?.split('\n').filter((line) => /^ {4}at /.test(line)) ?? [];
  return [error.name + code, ...frames].join('\n');
}
