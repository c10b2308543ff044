import { request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

import { serve } from '../harness/serve.ts';

/** A reverse proxy, like nginx or a load balancer. */
export interface ReverseProxy extends AsyncDisposable {
  /** Its own origin. */
  readonly origin: string;
  /** Sets the target; it is known only after the proxy listens. */
  forwardTo(origin: string): void;
  /** The paths that it has forwarded, after the rewrite. */
  readonly passedOn: readonly string[];
}

/** @param rewrite - returns the path and header fields for the target; `undefined` for a path that is not forwarded */
export async function startProxy(
  rewrite: (
    path: string,
    headers: IncomingHttpHeaders,
  ) => { path: string; headers: IncomingHttpHeaders } | undefined,
): Promise<ReverseProxy> {
  const passedOn: string[] = [];
  let target = '';

  function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const rewritten = rewrite(incoming.url ?? '/', incoming.headers);
    if (!rewritten) {
      outgoing.writeHead(404).end('no such path at the proxy');
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

  const served = await serve(() => forward);
  return {
    ...served,
    passedOn,
    forwardTo(origin) {
      target = origin;
    },
  };
}
