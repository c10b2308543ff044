const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether a host name is `localhost` or a loopback address, for which http is accepted: the requests do not leave the machine (RFC 8252
 * section 8.3).
 *
 * @param hostname - the hostname of a `URL`, which is in lower case and has an IPv6 address in brackets
 */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}
