const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether a URL with http is safe to send credentials to: requests to a loopback address do not leave the machine (RFC 8252
 * section 8.3). `hostname` is the one of a `URL`, which is lower-case and has IPv6 addresses in brackets.
 */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}
