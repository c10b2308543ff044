import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Serves `{}` on a free loopback port, and records the paths that are asked for. */
export async function serveRecording(): Promise<{ origin: string; asked: string[] } & AsyncDisposable> {
  const asked: string[] = [];
  const served = await serve(() => (request, response) => {
    asked.push(request.url ?? '');
    response.end('{}');
  });
  return { ...served, asked };
}

/** Serves a listener on a free loopback port. */
export async function serve(
  listener: (origin: string) => RequestListener | Promise<RequestListener>,
): Promise<{ origin: string; server: Server; [Symbol.asyncDispose](): Promise<void> }> {
  // Longer than a busy machine lets this process wait: Node would close a connection at the moment when the client uses it again.
  const server = createServer({ keepAliveTimeout: 60_000 });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    server.on('request', await listener(origin));
  } catch (error) {
    server.close();
    throw error;
  }
  return {
    origin,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
