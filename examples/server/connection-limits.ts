import type { ServerOptions } from 'node:http';

/**
 * What a connection may take, in milliseconds and bytes, so that callers who send slowly, or not at all, are cut off. A
 * proxy in front, if there is one, should give up sooner.
 */
export const CONNECTION_LIMITS: ServerOptions = {
  /** For the header fields to arrive. Node's default is 60 s. */
  headersTimeout: 10_000,
  /** For the whole request, the portal's documents included. Node's default is 300 s. */
  requestTimeout: 60_000,
  /** Between two requests. As Node's default. */
  keepAliveTimeout: 5000,
  /** How often the times above are looked at. Node's default is 30 s. */
  connectionsCheckingInterval: 2000,
  /** For the request line and the header fields together; what is larger is answered with 431. As Node's default. */
  maxHeaderSize: 16_384,
};
