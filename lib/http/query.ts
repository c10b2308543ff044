import type { Context } from 'koa';

import type { Problem } from './problem.ts';

/** An authorization request has some twenty parameters, and a page fewer. */
export const MOST_PARAMETERS = 100;

/** Whether a query or a form, neither parsed yet, has more parameters than are read. */
export function exceedsParameters(text: Pick<Buffer | string, 'indexOf'>): boolean {
  let at = -1;
  for (let count = 0; count < MOST_PARAMETERS; count += 1) {
    at = text.indexOf('&', at + 1);
    if (at === -1) return false;
  }
  return true;
}

/**
 * Whether a URL has more parameters than are read. It is asked before anything reads `ctx.query`, which costs the square of the number
 * of parameters with one name.
 */
export function hasTooManyParameters({ querystring }: Pick<Context, 'querystring'>): boolean {
  return exceedsParameters(querystring);
}

/** Why such a request is refused: a phrase without a full stop, for the `error_description` of an OAuth error. */
export const TOO_MANY_PARAMETERS = `the URL has more than ${MOST_PARAMETERS} parameters`;

export const TOO_MANY_PARAMETERS_PROBLEM: Problem = {
  status: 400,
  code: 'too_many_parameters',
  detail: `The URL has more than ${MOST_PARAMETERS} parameters.`,
};

/** A parameter in the URL of a page; `''` when it is missing or repeated. */
export function queryParameter({ query }: Context, name: string): string {
  const value = query[name];
  return typeof value === 'string' ? value : '';
}
