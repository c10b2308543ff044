/** Finds the mistakes of a program that uses a server before it is there, or passes a method on instead of calling it. */
import { ConfigError } from '../errors.ts';
import type { AuthServer } from './auth-server.ts';

/** What a program uses of a server while it puts its app together. */
const USED_AT_START = [
  'middleware',
  'callback',
  'guard',
  'requires',
  'health',
  'events',
  'observe',
  'clients',
] as const satisfies readonly (keyof AuthServer)[];

/** Lets a program that has not awaited the server read what is wrong, instead of that `middleware` is not a function. */
export function requireAwait<T extends object>(server: Promise<T>): Promise<T> {
  for (const name of USED_AT_START)
    void Object.defineProperty(server, name, {
      get: function used() {
        // The program ends with this error, and not with that of the options too.
        server.catch(() => {});
        const error = new ConfigError(
          'createAuthServer()',
          `it returns a promise: write \`const auth = await createAuthServer(…)\` before you use auth.${name}`,
        );
        Error.captureStackTrace(error, used);
        throw error;
      },
    });
  return server;
}

/**
 * Without the call, each request would get a new middleware that nobody runs, and a 404.
 *
 * @throws ConfigError where a method got a Koa context or a request of Node instead of being called once
 */
export function requireCall(method: 'callback' | 'guard' | 'middleware', [first]: readonly unknown[]): void {
  if (typeof first !== 'object' || first === null || !('req' in first || 'rawHeaders' in first)) return;
  throw new ConfigError(
    `auth.${method}`,
    method === 'callback'
      ? 'call it: http.createServer(auth.callback()), or app.use(auth.callback())'
      : `call it: app.use(auth.${method}())`,
  );
}
