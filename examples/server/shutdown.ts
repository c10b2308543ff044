import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long the server waits when it stops, in milliseconds. */
export interface Grace {
  /** For running requests. @default 7000 */
  readonly running?: number;
  /** For requests that have not arrived completely. @default 1000 */
  readonly arriving?: number;
}

// In milliseconds: the process ends after this time in any case. Longer than the timeouts of the database.
const LIMIT = 20_000;

/**
 * Returns a function that stops a server after its running requests have ended.
 *
 * Call it before the server listens. `server.close()` alone would also wait for idle keep-alive connections.
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
      // What has arrived while this thread was busy is read first.
      setTimeout(() => setImmediate(endArriving, responses), arriving),
      setTimeout(() => server.closeAllConnections(), running),
    ];
    await closed;
    for (const limit of limits) clearTimeout(limit);
  };
}

function endArriving(responses: ReadonlySet<ServerResponse>): void {
  for (const { req } of responses) if (!req.complete) req.socket.destroy();
}

/**
 * Stops on SIGTERM, on SIGINT and on an uncaught error, then ends the process: with 0, or with 1 after an error. After an
 * uncaught error the state of the process is undefined, so it ends and its supervisor has to start it again.
 */
export function stopOnSignals(stop: () => Promise<void>): void {
  let stopping: Promise<void> | undefined;

  function end(): void {
    // After Ctrl-C the signal can arrive twice: from the terminal and from npm.
    stopping ??= stop()
      .catch((error: unknown) => fail('Stopping failed', error))
      .then(() => process.exit());
    setTimeout(() => process.exit(1), LIMIT).unref();
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  // Unhandled rejections are reported here too.
  process.on('uncaughtException', (error) => {
    fail('Uncaught error', error);
    end();
  });
}

function fail(what: string, error: unknown): void {
  process.exitCode = 1;
  process.stderr.write(`${what}: ${describeFault(error)}\n`);
}

/** Where an error was thrown. Its message is left out, because it can contain data of a request. */
function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  const frames = error.stack?.split('\n').filter((line) => /^ {4}at /.test(line)) ?? [];
  return [error.name + code, ...frames].join('\n');
}
