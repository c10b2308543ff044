/** The cookies of one person's browser at one server, by path (RFC 6265 section 5). */
export class CookieJar {
  readonly #cookies = new Map<string, { readonly path: string; readonly pair: string }>();

  /** Keeps what a response sets, and drops what it expires. */
  keep(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/; ?/);
      const path = valueOf(attributes, 'path') ?? '/';
      const expires = valueOf(attributes, 'expires');
      const key = `${pair.slice(0, pair.indexOf('='))} ${path}`;
      if (expires !== undefined && Date.parse(expires) <= Date.now()) this.#cookies.delete(key);
      else this.#cookies.set(key, { path, pair });
    }
  }

  /** The `Cookie` header field of a request, the longest path first. */
  headerFor(url: URL): string {
    return [...this.#cookies.values()]
      .filter(({ path }) => isBelow(url.pathname, path))
      .toSorted((one, other) => other.path.length - one.path.length)
      .map(({ pair }) => pair)
      .join('; ');
  }
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}

function valueOf(attributes: readonly string[], name: string): string | undefined {
  const prefix = `${name}=`;
  return attributes.find((one) => one.toLowerCase().startsWith(prefix))?.slice(prefix.length);
}
