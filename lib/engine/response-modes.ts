import type { Middleware } from 'koa';

/** The ways in which the answer to an authorization request reaches the app. */
export const RESPONSE_MODES = ['query', 'fragment'] as const;

// A value that the engine does not have, so that it answers `unsupported_response_mode`.
const NOT_THERE = 'unsupported';

/**
 * Keeps authorization requests from asking for `form_post`. The engine would answer with a page of its own, which runs
 * an inline script and has none of the headers of the other pages, and it cannot be told to do without that mode.
 */
export const refuseFormPost: Middleware = async (ctx, next) => {
  const { query } = ctx;
  if (query['response_mode'] === 'form_post') ctx.query = { ...query, response_mode: NOT_THERE };
  await next();
};
