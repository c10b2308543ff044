import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';

import type { Nodes } from './nodes.ts';

/** What happens to a refresh on its way. */
export interface Fate {
  /** @default the next node in turn */
  readonly node?: number;
  /** Called before the request is sent, and before the response is handed on. */
  readonly before?: () => Promise<void>;
  readonly after?: () => Promise<void>;
  readonly isLost?: boolean;
}

/** Listens at the issuer, and hands each request to one of two nodes in turn. */
export class RefreshProxy implements AsyncDisposable {
  readonly #nodes: Nodes;
  readonly #server: Server;
  /** Of the next refresh. */
  fate: Fate | undefined;
  refreshes = 0;
  /** The refreshes that a node has answered with an error. */
  refused = 0;
  #requests = 0;

  constructor(nodes: Nodes) {
    this.#nodes = nodes;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(Number(new URL(this.#nodes.issuer).port), '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, method = '', url = '' } = request;
    const body = await buffer(request);
    const refreshes = isRefresh(url, body);
    const {
      after,
      before,
      isLost = false,
      node = (this.#requests += 1) % 2,
    } = refreshes ? this.#takeFate() : {};
    await before?.();
    const { connection: _connection, host: _host, 'content-length': _length, ...handed } = headers;
    const send = async (to: number): Promise<Response> =>
      fetch(this.#nodes.at(new URL(url, this.#nodes.issuer), to), {
        method,
        headers: handed as Record<string, string>,
        redirect: 'manual',
        ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
      });
    const answer = await send(node).catch(async (error: Error) => {
      // As load balancers do: what a node has not accepted is sent to the other one.
      if ((error.cause as { code?: string })?.code === 'ECONNREFUSED') return send(1 - node);
      throw error;
    });
    const content = Buffer.from(await answer.arrayBuffer());
    if (refreshes && !answer.ok) this.refused += 1;
    await after?.();
    if (isLost) {
      response.destroy();
      return;
    }
    // What `fetch` has decoded, and what belongs to the connection.
    const others = [...answer.headers].filter(
      ([name]) =>
        !/^(connection|keep-alive|transfer-encoding|content-(encoding|length)|set-cookie)$/.test(name),
    );
    response.writeHead(answer.status, {
      ...Object.fromEntries(others),
      'set-cookie': answer.headers.getSetCookie(),
    });
    response.end(content);
  }

  #takeFate(): Fate {
    this.refreshes += 1;
    const { fate = {} } = this;
    this.fate = undefined;
    return fate;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function isRefresh(url: string, body: Buffer): boolean {
  return url === '/oauth/token' && new URLSearchParams(body.toString()).get('grant_type') === 'refresh_token';
}
