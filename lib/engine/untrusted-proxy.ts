import type { Context } from 'koa';

import type { Logger } from '../contracts.ts';

/** Says once, of either, that addresses may not be what they are taken for. An attacker can send the header too, so it only says so. */
export interface ProxyWarning {
  /** When somebody is refused for what came from their address: it may be that of a proxy, and then it is everybody's. */
  ofSharing(ctx: Context): void;
  /** When the app takes the first of several addresses for the caller's, which is what the caller wrote. */
  ofForgery(ctx: Context): void;
}

export function createProxyWarning(logger: Logger): ProxyWarning {
  const said = new Set<string>();

  function warnOnce(ctx: Context, message: string): void {
    if (said.has(message)) return;
    said.add(message);
    logger.warn({ address: ctx.ip }, message);
  }

  return {
    ofSharing(ctx) {
      if (!ctx.app.proxy && ctx.get('X-Forwarded-For') !== '') warnOnce(ctx, SHARED);
    },
    ofForgery(ctx) {
      const { maxIpsCount, proxy, proxyIpHeader } = ctx.app;
      if (proxy && !maxIpsCount && ctx.get(proxyIpHeader).includes(',')) warnOnce(ctx, FORGED);
    },
  };
}

const SHARED =
  'logins from this address are throttled; if it is that of your proxy, set trustProxy, or proxy and maxIpsCount of your own app';

const FORGED =
  'X-Forwarded-For has several addresses, and the first, which the caller may have made up, is taken for theirs; set maxIpsCount of your app, beside proxy, to the number of your proxies';
