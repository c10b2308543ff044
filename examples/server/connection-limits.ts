import type { ServerOptions } from 'node:http';

/**
 * Limits for connections, in milliseconds and bytes, which close slow and idle connections. A proxy in front of the server
 * should have shorter timeouts.
 */
export const CONNECTION_LIMITS: ServerOptions = {
  /** For the header fields to arrive. Node's default is 60 s. */
  headersTimeout: 10_000,
  /** For the whole request, the portal's documents included. Node's default is 300 s. */
  requestTimeout: 60_000,
  /** Between two requests. As Node's default. */
  keepAliveTimeout: 5000,
  /** How often the timeouts above are checked. Node's default is 30 s. */
  connectionsCheckingInterval: 2000,
  /** For the request line and the header fields together; larger requests are answered with 431. As Node's default. */
  maxHeaderSize: 16_384,
};
