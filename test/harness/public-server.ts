import { createServer } from 'node:https';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { createAuthServer } from 'koa-gatehouse';

import { createServer as createAuthServerIn } from '../../lib/server/create-auth-server.ts';

/** A key and a self-signed certificate for `apps.example` and `*.apps.example`, for tests only. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/3aPYIR73tHSb+N0
Av6ryeJevGIzyQXo1+qgh2BQ1WGhRANCAASPYH5kRBfu+nLTJ5nIp4Df990cvefD
FGAhKTSTmwQum+3EJS7lnyhZIBsFTTGNXVjPXG2VVcpzfL8nGepXM/rO
-----END PRIVATE KEY-----`;

export const CERTIFICATE: string = `-----BEGIN CERTIFICATE-----
MIIBrjCCAVSgAwIBAgIUQcyU/2duQvPzZO/A411qmKLAOqgwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMYXBwcy5leGFtcGxlMCAXDTI2MTEyMzAzMjYyNVoYDzIxMjYx
MDMwMDMyNjI1WjAXMRUwEwYDVQQDDAxhcHBzLmV4YW1wbGUwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAASPYH5kRBfu+nLTJ5nIp4Df990cvefDFGAhKTSTmwQum+3E
JS7lnyhZIBsFTTGNXVjPXG2VVcpzfL8nGepXM/rOo3wwejAdBgNVHQ4EFgQUOh+P
f0FRPxfJ2nZQfw2ZdioQXK8wHwYDVR0jBBgwFoAUOh+Pf0FRPxfJ2nZQfw2ZdioQ
XK8wDwYDVR0TAQH/BAUwAwEB/zAnBgNVHREEIDAeggxhcHBzLmV4YW1wbGWCDiou
YXBwcy5leGFtcGxlMAoGCCqGSM49BAMCA0gAMEUCIGHOWsFd5I0gMlSXm25br7Gw
HlzMs1GNlzpM8D0lYOmkAiEAuIUCDflmOKONSZR+1OsX2mlyhUkgm0xUWwOTsVaM
beE=
-----END CERTIFICATE-----`;

/** A server whose address on loopback passes for a public one, see `loopbackNetwork`. */
export interface PublicServer extends AsyncDisposable {
  /** Such as `https://apps.example:4711`. */
  readonly origin: string;
  /** The same with another host name. */
  readonly at: (hostname: string) => string;
  /** The requests so far: each path with its query. */
  readonly requests: readonly string[];
  /** The connections so far, those that ended before a request included. */
  readonly connections: () => number;
}

/** Serves a listener over TLS on a free port of a loopback address. */
export async function servePublic(
  listener: RequestListener,
  { address = '127.0.0.1', port = 0 }: { address?: string; port?: number } = {},
): Promise<PublicServer> {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
    requests.push(request.url!);
    listener(request, response);
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => {
    server.listen(port, address, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  const at = (hostname: string): string => `https://${hostname}:${bound}`;
  return {
    origin: at('apps.example'),
    at,
    requests,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/** A network in which every host name has one address on loopback, which alone is public. */
export function loopbackNetwork({ address = '127.0.0.1' }: { address?: string } = {}): {
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  readonly isPublic: (found: string) => boolean;
  readonly ca: string;
} {
  return { resolve: async () => [address], isPublic: (found) => found === address, ca: CERTIFICATE };
}

/** Starts platforms for which the servers on loopback are the internet. */
export const ON_LOOPBACK: { readonly create: typeof createAuthServer } = {
  create: async (given) => createAuthServerIn(given, loopbackNetwork()),
};

/** Answers with a JSON document. */
export function json(document: unknown, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(document));
  };
}
