import type { Middleware } from 'koa';

const SERVED = new WeakMap<object, (path: string) => boolean>();

/**
 * Says which paths a middleware may answer. It has to pass on all other requests without a change, so that a server of another
 * framework needs no Koa context for them.
 *
 * @returns the middleware
 */
export function serveOnly<M extends object>(middleware: M, serves: (path: string) => boolean): M {
  SERVED.set(middleware, serves);
  return middleware;
}

/** Whether a middleware, such as one of the host, may answer any path. */
export function servesAll(middleware: Middleware): boolean {
  return !SERVED.has(middleware);
}

/** Makes the function that says whether one of those middleware that serve only some paths may answer a request with a URL. */
export function createMayServe(
  all: readonly Middleware[],
): (request: { readonly url?: string | undefined }) => boolean {
  const known = all.map((middleware) => SERVED.get(middleware)).filter((serves) => serves !== undefined);
  return function mayServe({ url }) {
    // Koa reads the others.
    if (url === undefined || !PLAIN.test(url)) return true;
    const end = url.indexOf('?');
    const path = end === -1 ? url : url.slice(0, end);
    return known.some((serves) => serves(path));
  };
}

// A path, with a query: no URL with a host (RFC 9112 section 3.2.2), no fragment, and none of the characters that are not of a URL.
const PLAIN = /^\/[!"$-~]*$/;
