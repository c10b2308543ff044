import type { RequestListener } from 'node:http';

import type { createAuthServer } from 'koa-gatehouse';

import { createServer as createAuthServerIn } from '../../lib/server/create-auth-server.ts';
import { serve } from './serve.ts';
import type { Place, Served } from './serve.ts';

/** A self-signed certificate for `apps.example`, `*.apps.example`, `localhost` and 127.0.0.1, for tests only, and its key. */
export const TLS = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCNPpLFaBT9Yijn+8
7D6AsBtj4MywMS4tPjLHVqAIIFChRANCAAScZYzYhq7pjHNJ2mKwFymwOJbre1hX
moO9Gttzfa6LAXNnPjgDTGJPYbGlALlZT5tDHBQugoLFuZh7iyEXZz2U
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBizCCATGgAwIBAgIBATAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAxhcHBzLmV4
YW1wbGUwIBcNMjYwMTAxMDAwMDAwWhgPMjEyNjAxMDEwMDAwMDBaMBcxFTATBgNV
BAMMDGFwcHMuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJxljNiG
rumMc0naYrAXKbA4lut7WFeag70a23N9rosBc2c+OANMYk9hsaUAuVlPm0McFC6C
gsW5mHuLIRdnPZSjbDBqMDgGA1UdEQQxMC+CDGFwcHMuZXhhbXBsZYIOKi5hcHBz
LmV4YW1wbGWCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8EBTADAQH/MB0GA1Ud
DgQWBBRL9tDAbJX1zNH4vDw+h3hPRDeg2DAKBggqhkjOPQQDAgNIADBFAiEAhySa
z4b5lIvb7nZavmSwvrpyzC6+zMGRIKwtWSMCcv4CIGzGNipFv7Oq2CMhqfrlsUN/
Qd7kCdaapTmPhp5tN5MJ
-----END CERTIFICATE-----`,
} as const;

/** A server whose address on loopback passes for a public one, see `loopbackNetwork`. */
export interface PublicServer extends Served {
  /** Such as `https://apps.example:4711`. */
  readonly origin: string;
  /** The same with another host name. */
  readonly at: (hostname: string) => string;
  /** The connections so far, those that ended before a request included. */
  readonly connections: () => number;
}

/** Serves a listener over TLS. */
export async function servePublic(listener: RequestListener, place: Place = {}): Promise<PublicServer> {
  const served = await serve(() => listener, { ...place, tls: TLS });
  let connections = 0;
  served.server.on('connection', () => (connections += 1));
  const at = (hostname: string): string => `https://${hostname}:${served.port}`;
  return { ...served, at, origin: at('apps.example'), connections: () => connections };
}

/** A network in which every host name has one address on loopback, which alone is public. */
export function loopbackNetwork({ address = '127.0.0.1' }: { address?: string } = {}): {
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  readonly isPublic: (found: string) => boolean;
  readonly ca: string;
} {
  return { resolve: async () => [address], isPublic: (found) => found === address, ca: TLS.cert };
}

type OnLoopback = { readonly create: typeof createAuthServer };

/** @param timeout - of requests, in milliseconds */
const startedWith = (timeout: number | undefined): OnLoopback => ({
  create: async (given) => createAuthServerIn(given, { ...loopbackNetwork(), timeout }),
});

/** Starts platforms for which the servers on loopback are the internet. */
export const ON_LOOPBACK: OnLoopback = startedWith(undefined);

/** The same for tests in which a server answers when they tell it to, and which a busy machine makes slower than a request may be. */
export const PATIENT_ON_LOOPBACK: OnLoopback = startedWith(60_000);

/** Answers with a JSON document. */
export function json(document: unknown, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(document));
  };
}
