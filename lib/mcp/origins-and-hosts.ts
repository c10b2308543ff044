import type { Middleware } from 'koa';

import { isLoopback } from '../contracts/loopback.ts';
import { ConfigError } from '../errors.ts';
import { sendProblem } from '../http/problem.ts';

/** Where requests may come from and be sent to. */
export interface OriginsAndHosts {
  readonly origins: ReadonlySet<string>;
  readonly hosts: ReadonlySet<string>;
}

/**
 * Checks the options `origins` and `hosts`.
 *
 * @param urls - of this server: their hosts are always accepted, and the origin of the first by default
 * @throws ConfigError
 */
export function checkOriginsAndHosts(
  { hosts = [], origins }: { readonly hosts?: readonly string[]; readonly origins?: readonly string[] },
  urls: readonly [string, ...string[]],
): OriginsAndHosts {
  const own = urls.map((url) => new URL(url));
  for (const origin of checkList('origins', origins ?? [])) {
    if (URL.parse(origin)?.origin !== origin) {
      throw new ConfigError('origins', 'give origins without a path, such as https://app.example');
    }
  }
  for (const host of checkList('hosts', hosts)) {
    if (URL.parse(`http://${host}`)?.host !== host || /:\d+$/.test(host)) {
      throw new ConfigError(
        'hosts',
        'give names of hosts in lower case and without ports, such as internal.example',
      );
    }
  }
  return {
    origins: new Set(origins ?? [own[0]!.origin]),
    hosts: new Set([...own.map(({ hostname }) => hostname), ...hosts]),
  };
}

function checkList(option: string, list: unknown): readonly string[] {
  if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list;
  throw new ConfigError(option, 'give an array of strings');
}

/**
 * Refuses requests of other web pages, and those that a page reached this server with by a name of its own (DNS rebinding), as
 * MCP requires of servers. Programs send no `Origin`.
 */
export function refuseOtherOriginsAndHosts({ hosts, origins }: OriginsAndHosts): Middleware {
  return async function refuse(ctx, next) {
    const origin = ctx.headers.origin;
    if (origin !== undefined && !origins.has(origin)) {
      sendProblem(ctx, {
        status: 403,
        code: 'origin_not_allowed',
        detail:
          'Web pages of this origin may not send requests here: see the option origins of createMcpEndpoint().',
      });
      return;
    }
    const hostname = ctx.hostname.toLowerCase();
    if (!hosts.has(hostname) && !isLoopback(hostname)) {
      sendProblem(ctx, {
        status: 403,
        code: 'host_not_allowed',
        detail:
          'The Host of the request is none of this server: see the option hosts of createMcpEndpoint().',
      });
      return;
    }
    await next();
  };
}
