import { createServer, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A reverse proxy, as nginx or a load balancer would be one. */
export interface ReverseProxy extends AsyncDisposable {
  /** Where it listens. */
  readonly origin: string;
  /** Says where requests go; known only after it listens. */
  forwardTo(origin: string): void;
  /** The paths that it has passed on, as the other side saw them. */
  readonly passedOn: readonly string[];
}

/** @param rewrite - turns the path and the header fields into what the other side gets; `undefined` for a path it does not serve */
export async function startProxy(
  rewrite: (
    path: string,
    headers: IncomingHttpHeaders,
  ) => { path: string; headers: IncomingHttpHeaders } | undefined,
): Promise<ReverseProxy> {
  const passedOn: string[] = [];
  let target = '';

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const rewritten = rewrite(incoming.url ?? '/', incoming.headers);
    if (!rewritten) {
      outgoing.writeHead(404).end('the proxy serves nothing here');
      return;
    }
    passedOn.push(rewritten.path);
    const onward = request(target + rewritten.path, { method: incoming.method, headers: rewritten.headers });
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(onward);
  }

  const server = createServer(pass);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passedOn,
    forwardTo(origin) {
      target = origin;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
