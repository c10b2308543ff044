import type { Middleware } from 'koa';

import { isLoopback } from '../contracts/loopback.ts';
import { sendProblem } from '../http/problem.ts';
import type { Check } from '../options/declare.ts';
import { list, strings } from '../options/values.ts';

export const hosts: Check<readonly string[]> = (place, given) =>
  list(
    'give names of hosts in lower case and without ports, such as internal.example',
    (host) => URL.parse(`http://${host}`)?.host === host && !/:\d+$/.test(host),
  )(place, strings(place, given));

/**
 * Refuses requests of other web pages, and those that a page reached this server with by a name of its own (DNS rebinding), as
 * MCP requires of servers. Programs send no `Origin`.
 *
 * @param urls - of this server: their hosts are always accepted
 */
export function refuseOtherOriginsAndHosts(
  { hosts: further, origins }: { readonly hosts: readonly string[]; readonly origins: readonly string[] },
  urls: readonly string[],
): Middleware {
  const allowedOrigins = new Set(origins);
  const allowedHosts = new Set([...urls.map((url) => new URL(url).hostname), ...further]);
  return async function refuse(ctx, next) {
    const origin = ctx.headers.origin;
    if (origin !== undefined && !allowedOrigins.has(origin)) {
      const detail =
        'Web pages of this origin may not send requests here: see the option origins of createMcpEndpoint().';
      return sendProblem(ctx, { status: 403, code: 'origin_not_allowed', detail });
    }
    const hostname = ctx.hostname.toLowerCase();
    if (!allowedHosts.has(hostname) && !isLoopback(hostname)) {
      const detail =
        'The Host of the request is none of this server: see the option hosts of createMcpEndpoint().';
      return sendProblem(ctx, { status: 403, code: 'host_not_allowed', detail });
    }
    return next();
  };
}
