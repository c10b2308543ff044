import type { ExecutionContext } from 'ava';
import type Koa from 'koa';

import { listenerOf } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import type { Answer as Received } from '../harness/requests.ts';
import { serve as serveListener } from '../harness/serve.ts';

/** Serves an app on a free port of 127.0.0.1 until the test ends. Resolves to its origin. */
export async function serve(t: ExecutionContext, app: Koa): Promise<string> {
  const served = await serveListener(() => listenerOf(app));
  t.teardown(async () => served[Symbol.asyncDispose]());
  return served.origin;
}

/** A response as a test compares it. */
export interface Answer extends Omit<Received, 'body'> {
  readonly type: string | null;
  /** The JSON body; empty when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request, with a bearer token if one is given. */
export async function request(url: string, token?: string, init: RequestInit = {}): Promise<Answer> {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  const { body = {}, ...answer } = await send(url, { ...init, headers });
  return { ...answer, body, type: answer.headers.get('content-type') };
}
