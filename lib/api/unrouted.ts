import type { Middleware } from 'koa';
import { RouterEvents } from 'koa-router';
import type { Router } from 'koa-router';

import { sendProblem } from '../http/problem.ts';

/**
 * Answers what is left below the prefix when no route matched and nothing behind the router answered either: 404, or
 * 405 and the methods there are (RFC 9110 section 15.5.6). Behind the entrance, so that strangers cannot map the API.
 */
export function answerUnrouted<State>(
  router: Router<State>,
  entrance: Middleware<State>,
  prefix: string,
): void {
  router.on(RouterEvents.NotFound, async (ctx, next) => {
    await next();
    const isBelow = ctx.path === prefix || ctx.path.startsWith(`${prefix}/`);
    const isAnswered = ctx.respond === false || ctx.headerSent || ctx.status !== 404 || ctx.body != null;
    if (!isBelow || isAnswered) return;
    await entrance(ctx, async () => {
      const methods = [...new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods))];
      if (methods.length === 0) {
        sendProblem(ctx, { status: 404, code: 'not_found', detail: 'The API has nothing at this path.' });
        return;
      }
      const headers = { Allow: [...methods, 'OPTIONS'].join(', ') };
      if (ctx.method === 'OPTIONS') {
        ctx.status = 204;
        ctx.set(headers);
        return;
      }
      sendProblem(ctx, {
        status: 405,
        code: 'method_not_allowed',
        detail: `This path takes ${methods.join(', ')}.`,
        headers,
      });
    });
  });
}
