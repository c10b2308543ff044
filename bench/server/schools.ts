import type { Middleware } from 'koa';

/** The response of the guarded route. */
export const SCHOOLS: Middleware = (ctx) => {
  ctx.body = { data: [{ id: 1, name: 'Hill School' }] };
};
