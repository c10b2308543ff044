import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';

import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import type { Middleware } from 'koa';

/** What has an end: a test, or what the tests of a file share. */
export type Owner = AsyncDisposableStack | Pick<ExecutionContext, 'teardown'>;

/** Disposes of something when its owner ends. For a test whose end may fail: it prints the reason, which `await using` hides. */
export function endWith<Value extends AsyncDisposable>(owner: Owner, value: Value): Value {
  const end = async (): Promise<void> => value[Symbol.asyncDispose]();
  if ('defer' in owner) owner.defer(end);
  else owner.teardown(end);
  return value;
}

export interface Listening<Kind> extends AsyncDisposable {
  readonly server: Kind;
  readonly port: number;
}

/** Where a server listens. @default a free port of 127.0.0.1 */
export interface Place {
  readonly address?: string;
  readonly port?: number;
}

/** Makes a server of Node listen, whatever it speaks: HTTP, HTTP/2, TLS or a protocol on TCP. Its end closes its connections. */
export async function listenOn<Kind extends TcpServer>(
  server: Kind,
  { address = '127.0.0.1', port = 0 }: Place = {},
): Promise<Listening<Kind>> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await once(server.listen(port, address), 'listening');
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => {
        server.close(resolve);
      });
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A served listener. */
export interface Served extends Listening<Server> {
  readonly origin: string;
  /** The requests so far: each path with its query. */
  readonly requests: readonly string[];
}

/** Serves a listener, over TLS if there is a certificate for it. */
export async function serve(
  listener: (origin: string) => RequestListener | Promise<RequestListener>,
  { tls, ...place }: Place & { readonly tls?: { readonly key: string; readonly cert: string } } = {},
): Promise<Served> {
  // Longer than a busy machine lets this process wait: Node would close a connection at the moment when the client uses it again.
  const keepAliveTimeout = 60_000;
  const listening = await listenOn<Server>(
    tls ? createTlsServer({ ...tls, keepAliveTimeout }) : createServer({ keepAliveTimeout }),
    place,
  );
  const origin = `${tls ? 'https' : 'http'}://${place.address ?? '127.0.0.1'}:${listening.port}`;
  const requests: string[] = [];
  listening.server.on('request', ({ url }) => requests.push(url!));
  try {
    listening.server.on('request', await listener(origin));
  } catch (error) {
    await listening[Symbol.asyncDispose]();
    throw error;
  }
  return { ...listening, origin, requests };
}

/** The listener of a Koa app, for `node:http`. */
export function listenerOf(app: Koa): RequestListener {
  const handle = app.callback();
  return (request, response) => void handle(request, response);
}

/** A Koa app of some middleware. It does not print the errors that tests cause, as Koa does. */
export function koaApp(...middleware: readonly Middleware[]): Koa {
  const app = new Koa();
  app.silent = true;
  for (const one of middleware) app.use(one);
  return app;
}

/** Serves a Koa app, or one of some middleware. Resolves to its origin. */
export async function serveApp(
  owner: Owner,
  ...given: readonly [Koa] | readonly Middleware[]
): Promise<string> {
  const [first] = given;
  const app = first instanceof Koa ? first : koaApp(...(given as readonly Middleware[]));
  return endWith(owner, await serve(() => listenerOf(app))).origin;
}
