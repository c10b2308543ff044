/** The cookies of a browser for a server. */
export class Cookies {
  readonly #stored = new Map<string, { readonly pair: string; readonly path: string }>();

  /** The `Cookie` header field for a path, if there is anything to send. */
  headerFor(path: string): { cookie?: string } {
    const pairs = [...this.#stored.values()].filter((one) => isBelow(path, one.path)).map(({ pair }) => pair);
    return pairs.length > 0 ? { cookie: pairs.join('; ') } : {};
  }

  /** Stores the cookies of the `Set-Cookie` header fields of a response. */
  store(lines: string | readonly string[] = []): void {
    for (const line of [lines].flat()) {
      const [pair = ''] = line.split(';', 1);
      const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? '/';
      const key = `${pair.slice(0, pair.indexOf('='))} ${path}`;
      if (/;\s*expires=Thu, 01 Jan 1970/i.test(line)) this.#stored.delete(key);
      else this.#stored.set(key, { pair, path });
    }
  }
}

function isBelow(path: string, parent: string): boolean {
  return path.startsWith(parent) && (parent.endsWith('/') || /^(\/|\?|$)/.test(path.slice(parent.length)));
}
