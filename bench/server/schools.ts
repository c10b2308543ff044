import type { Middleware } from 'koa';

/** What the guarded route answers. */
export const SCHOOLS: Middleware = (ctx) => {
  ctx.body = { data: [{ id: 1, name: 'Hill School' }] };
};
