// It goes into a header field, encoded once more, and proxies take no more than some kilobytes of header fields.
const LONGEST = 2000;

/**
 * The path that somebody is to be sent back to, if it leads nowhere but to this origin; `undefined` for anything else,
 * such as `//evil.example`, `/\evil.example` or `https://evil.example`, which browsers take for another server, and for one that is too long.
 */
export function pathHere(path: string, origin: string): string | undefined {
  const url = typeof path === 'string' && path.startsWith('/') ? URL.parse(path, origin) : null;
  // As a path of its own, the `//host` of `/.//host` would be another server.
  if (url?.origin !== origin || url.pathname.startsWith('//')) return undefined;
  const back = url.pathname + url.search + url.hash;
  return back.length > LONGEST ? undefined : back;
}
