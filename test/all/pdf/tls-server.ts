import { createServer } from 'node:https';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A key and a self-signed certificate for `localhost` and 127.0.0.1, for tests only. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggjoEqZlvWK8OUkK/
gqCNbALaIZQNo2TWYDv1O656JRehRANCAARfA3HVoOQh9Gvc4g+GBiDrqG/w5v1w
3SIW6v58xmnXlbsvK5WWeqTLxymNQq5bp54NNNhsxlkXZLquZTVnUf+J
-----END PRIVATE KEY-----`;

export const CERTIFICATE: string = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUXpvxPJHTSj+l4OPO9hEJZdtO1YMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA0Mjc0OFoYDzIxMjYxMDI4
MDQyNzQ4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARfA3HVoOQh9Gvc4g+GBiDrqG/w5v1w3SIW6v58xmnXlbsvK5WWeqTL
xymNQq5bp54NNNhsxlkXZLquZTVnUf+Jo28wbTAdBgNVHQ4EFgQUQh4SeICT2jFd
h1OvoPumintFLNswHwYDVR0jBBgwFoAUQh4SeICT2jFdh1OvoPumintFLNswDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgDv86eTxAT41HBG31FwSvzC2gQgA8BZzKVPZdlfnMQK8CIQCh
q+SXhtCKjbhA3D/Y80SVnJJ9J3VeU7zcP3UaZP6jew==
-----END CERTIFICATE-----`;

/** Serves a listener over TLS on a free loopback port. */
export async function serveTls(listener: RequestListener): Promise<AsyncDisposable & { origin: string }> {
  const server = createServer({ key: KEY, cert: CERTIFICATE }, listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
