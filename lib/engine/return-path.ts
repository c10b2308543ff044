/**
 * The path that somebody is to be sent back to, if it leads nowhere but to this origin; `undefined` for anything else,
 * such as `//evil.example`, `/\evil.example` or `https://evil.example`, which browsers take for another server.
 */
export function pathHere(path: string, origin: string): string | undefined {
  const url = typeof path === 'string' && path.startsWith('/') ? URL.parse(path, origin) : null;
  // As a path of its own, the `//host` of `/.//host` would be another server.
  if (url?.origin !== origin || url.pathname.startsWith('//')) return undefined;
  return url.pathname + url.search + url.hash;
}
