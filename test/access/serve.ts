import { once } from 'node:events';

import type { ExecutionContext } from 'ava';
import type Koa from 'koa';

/** Serves an app on a free port of 127.0.0.1 until the test ends. Resolves to its origin. */
export async function serve(t: ExecutionContext, app: Koa): Promise<string> {
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** A response as a test compares it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly type: string | null;
  /** The JSON body; empty when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request, with a bearer token if one is given. */
export async function request(url: string, token?: string, init: RequestInit = {}): Promise<Answer> {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  const response = await fetch(url, { ...init, headers });
  const text = await response.text();
  const type = response.headers.get('content-type');
  return {
    status: response.status,
    headers: response.headers,
    type,
    body: type?.includes('json') && text ? JSON.parse(text) : {},
  };
}
