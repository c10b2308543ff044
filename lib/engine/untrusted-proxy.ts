import type { Context } from 'koa';

import type { Logger } from '../contracts.ts';

/**
 * Says once, when somebody is refused for what came from their address, that the address may be that of a proxy: then it is
 * everybody's. An attacker can send the header too, so it only says so.
 */
export function createProxyWarning(logger: Logger): (ctx: Context) => void {
  let isSaid = false;
  return (ctx) => {
    if (isSaid || ctx.app.proxy || ctx.get('X-Forwarded-For') === '') return;
    isSaid = true;
    logger.warn(
      { address: ctx.ip },
      'logins from this address are throttled; if it is that of your proxy, set trustProxy, or proxy of your own app',
    );
  };
}
