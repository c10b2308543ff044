// Chromium's `Accept` of a navigation or a form post, to which a server may respond differently than to `*/*`.
const ACCEPT =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7';

export interface Cookie {
  readonly name: string;
  readonly value: string;
  /** Without the port, because cookies are shared by the ports of a host (RFC 6265 section 8.5). */
  readonly host: string;
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
  readonly sameSite: string | undefined;
}

/** A browser without rendering: stores cookies by path and posts the forms of pages. It follows redirects only when told to. */
export class Browser {
  readonly #cookies = new Map<string, Cookie>();
  readonly #reach: (url: URL) => URL;

  /**
   * @param reach - the URL at which the server of a URL listens, for host names that exist only in the test
   * @param cookies - those of an earlier session
   */
  constructor(reach: (url: URL) => URL = (url) => url, cookies: readonly Cookie[] = []) {
    this.#reach = reach;
    for (const cookie of cookies) this.#cookies.set(keyOf(cookie), cookie);
  }

  /** The cookies, `.sig` ones included. */
  get cookies(): readonly Cookie[] {
    return [...this.#cookies.values()];
  }

  /** All of them as a `Cookie` header field, for requests of somebody who has copied them. */
  get cookieField(): string {
    return this.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  async get(url: string | URL, headers: Record<string, string> = {}): Promise<Page> {
    return this.#send(new URL(url), { method: 'GET', headers });
  }

  /** Requests a URL and follows redirects for as long as they stay on this origin. */
  async open(url: string | URL): Promise<Page> {
    return this.follow(await this.get(url));
  }

  /** Follows redirects for as long as they stay on the page's origin. */
  async follow(page: Page): Promise<Page> {
    let current = page;
    for (let hops = 0; hops < 10; hops += 1) {
      const { location } = current;
      if (!location || location.origin !== current.url.origin) return current;
      current = await this.get(location);
    }
    throw new Error(`Too many redirects after ${page.url.href}`);
  }

  /** Posts a page's form the way a browser does: the button's `formaction` or the form's action, and the fields. */
  async submit(page: Page, button: string, fields: Record<string, string> = {}): Promise<Page> {
    const action = page.actionOf(button);
    const body = new URLSearchParams({ ...page.hiddenFields(), ...page.checkedBoxes(button), ...fields });
    return this.post(action, body);
  }

  async post(
    url: URL,
    body: URLSearchParams | FormData | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Page> {
    return this.#send(url, {
      method: 'POST',
      body,
      headers: { origin: url.origin, 'sec-fetch-site': 'same-origin', ...headers },
    });
  }

  async #send(
    url: URL,
    init: Omit<RequestInit, 'headers'> & { headers: Record<string, string> },
  ): Promise<Page> {
    // The longest path first (RFC 6265 section 5.4): of two cookies with one name, servers read the first.
    const cookie = this.cookies
      .filter((stored) => isSentTo(stored, url))
      .toSorted((a, b) => b.path.length - a.path.length)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
    const response = await fetch(this.#reach(url), {
      ...init,
      redirect: 'manual',
      headers: { accept: ACCEPT, ...init.headers, ...(cookie ? { cookie } : {}) },
    });
    for (const line of response.headers.getSetCookie()) this.#store(line, url);
    return new Page(url, response, await response.text());
  }

  #store(line: string, { hostname: host, protocol }: URL): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? '/';
    const secure = /;\s*secure/i.test(line);
    const sameSite = /;\s*samesite=([^;]+)/i.exec(line)?.[1];
    // RFC 6265bis section 5.7: a browser ignores a cookie whose attributes do not fit the prefix of its name.
    if (secure && protocol !== 'https:') return;
    if (/^__(Secure|Host)-/.test(name) && !secure) return;
    if (name.startsWith('__Host-') && (path !== '/' || /;\s*domain=/i.test(line))) return;
    const key = keyOf({ name, path, host });
    if (/expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(key);
    else {
      const httpOnly = /;\s*httponly/i.test(line);
      this.#cookies.set(key, { name, value, host, path, secure, httpOnly, sameSite });
    }
  }
}

function keyOf({ host, name, path }: Pick<Cookie, 'host' | 'name' | 'path'>): string {
  return `${name} ${path} ${host}`;
}

function isSentTo({ host, path, secure }: Cookie, url: URL): boolean {
  if (host !== url.hostname || !url.pathname.startsWith(path)) return false;
  if (secure && url.protocol !== 'https:') return false;
  return path.endsWith('/') || url.pathname.length === path.length || url.pathname[path.length] === '/';
}

/** One response, as a browser sees it. */
export class Page {
  readonly url: URL;
  readonly response: Response;
  readonly html: string;

  constructor(url: URL, response: Response, html: string) {
    this.url = url;
    this.response = response;
    this.html = html;
  }

  get status(): number {
    return this.response.status;
  }

  /** The target of a redirect. Browsers ignore `Location` with a status outside 3xx (RFC 9110 section 15.4). */
  get location(): URL | undefined {
    if (this.status < 300 || this.status > 399) return undefined;
    const location = this.response.headers.get('location');
    return location === null ? undefined : new URL(location, this.url);
  }

  get heading(): string {
    return text(/<h1[^>]*>([\s\S]*?)<\/h1>/.exec(this.html)?.[1] ?? '');
  }

  /** The text of the page without its tags. */
  get text(): string {
    return text(/<main[^>]*>([\s\S]*?)<\/main>/.exec(this.html)?.[1] ?? this.html);
  }

  hiddenFields(): Record<string, string> {
    const fields = this.html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
    return Object.fromEntries([...fields].map(([, name, value]) => [name!, decode(value!)]));
  }

  /** The check boxes outside of the form of a button that belong to it, each with the text of its label. */
  boxesOf(button: string): readonly { name: string; value: string; label: string; isChecked: boolean }[] {
    return this.#inputsOf(button, 'checkbox');
  }

  #inputsOf(button: string, type: 'checkbox' | 'radio'): ReturnType<Page['boxesOf']> {
    const id = attribute(this.#formOf(button).form, 'id');
    return [...this.html.matchAll(new RegExp(`<input type="${type}"([^>]*)>`, 'g'))]
      .map(([, attributes = '']) => attributes)
      .filter((attributes) => id !== undefined && attribute(attributes, 'form') === id)
      .map((attributes) => {
        const name = attribute(attributes, 'name') ?? '';
        const field = attribute(attributes, 'id') ?? name;
        const label = new RegExp(`<label for="${field}">([\\s\\S]*?)</label>`).exec(this.html)?.[1] ?? '';
        const value = decode(attribute(attributes, 'value') ?? '');
        return { name, value, label: text(label), isChecked: / checked\b/.test(attributes) };
      });
  }

  checkedBoxes(button: string): Record<string, string> {
    const checked = [...this.boxesOf(button), ...this.answersOf(button)].filter(({ isChecked }) => isChecked);
    return Object.fromEntries(checked.map(({ name, value }) => [name, value]));
  }

  /** The same of the radio buttons. */
  answersOf(button: string): ReturnType<Page['boxesOf']> {
    return this.#inputsOf(button, 'radio');
  }

  actionOf(button: string): URL {
    const { attributes, form } = this.#formOf(button);
    const action = attribute(attributes, 'formaction') ?? attribute(form, 'action') ?? this.url.href;
    return new URL(decode(action), this.url);
  }

  /** The attributes of a button and of its form. */
  #formOf(button: string): { attributes: string; form: string } {
    const forms = [...this.html.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)];
    for (const [, form = '', inside = ''] of forms) {
      for (const [, attributes = '', label = ''] of inside.matchAll(/<button([^>]*)>([\s\S]*?)<\/button>/g)) {
        if (text(label) === button) return { attributes, form };
      }
    }
    throw new Error(`There is no button "${button}" on ${this.url.href}, which says: ${this.text}`);
  }
}

function attribute(attributes: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1];
}

function text(html: string): string {
  return decode(html.replaceAll(/<[^>]+>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function decode(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#34;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
