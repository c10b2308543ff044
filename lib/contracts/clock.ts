/** The current time in whole seconds since 1970 (NumericDate, RFC 7519 section 2). */
export function now(): number {
  return Math.floor(Date.now() / 1000);
}
