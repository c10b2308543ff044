import type { Browser, BrowserContext, CDPSession, Page, Route } from 'playwright-core';

import type { ConverterSettings } from './options.ts';

/** What is converted. */
export interface DocumentSource {
  readonly html: string;
  readonly assets: ConverterSettings['assets'];
  /** Called before it is printed, with the files that it names and did not get, if any. What it throws ends the conversion. */
  readonly onMissing: (files: readonly string[]) => void;
}

/** The address of a document that is navigated to: reserved (RFC 6761), so that relative URLs have a base and lead nowhere. */
const DOCUMENT_URL = 'http://document.invalid/';

/** What a document may load: images, and fonts of `data:` URLs. Its styles are in itself, see `clearPageRules()`. */
const POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  `img-src data: ${DOCUMENT_URL}`,
  'font-src data:',
  "base-uri 'none'",
].join('; ');

/** `sandbox`, which only a header can say, makes a document ignore `<meta http-equiv="refresh">`. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `${POLICY}; sandbox`,
};

/** An empty page for one document. Closing its context ends whatever the document does. */
export interface EmptyPage {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly session: CDPSession;
  readonly frameId: string;
  /** The first URLs that the document names and did not get, of images, fonts, style sheets and whatever else it may not load. */
  readonly missing: ReadonlySet<string>;
}

/** How many of them are told, since a stranger's document may name any number. */
const MOST_MISSING = 20;

/** Opens a page in a context of its own, without JavaScript and network. */
export async function openPage(browser: Browser, assets: DocumentSource['assets']): Promise<EmptyPage> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    offline: true,
    serviceWorkers: 'block',
    // That of the window, see `launch()`.
    viewport: null,
  });
  try {
    await context.route('**/*', async (route) => answer(route, assets));
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    const [{ frameTree }] = await Promise.all([
      session.send('Page.getFrameTree'),
      session.send('Page.enable'),
    ]);
    const missing = new Set<string>();
    page.on('requestfailed', (request) => {
      if (missing.size < MOST_MISSING) missing.add(nameOf(request.url()));
    });
    const opened: EmptyPage = { context, page, session, frameId: frameTree.frame.id, missing };
    // As with document.open(), the policy remains in force for the content that replaces this.
    await setContent(opened, `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
    return opened;
  } catch (error) {
    await context.close().catch(() => {});
    throw error;
  }
}

/** Loads a document into an empty page. */
export async function loadDocument(empty: EmptyPage, { assets, html }: DocumentSource): Promise<void> {
  // A navigation takes a quarter of the time of a short document. Without one, relative URLs have no base, and are not requested.
  if (assets || mayRefresh(html) || mayNameFile(html)) await navigate(empty.page, html);
  else await setContent(empty, html);
}

async function navigate(page: Page, html: string): Promise<void> {
  // The page may be closed meanwhile.
  const answerDocument = async (route: Route): Promise<void> =>
    route.fulfill({ headers: HEADERS, body: html }).catch(() => {});
  // Once, because further requests for the address are not for the document.
  await page.route(DOCUMENT_URL, answerDocument, { times: 1 });
  await page.goto(DOCUMENT_URL, { waitUntil: 'load', timeout: 0 });
}

/**
 * Whether a document may contain `<meta http-equiv="refresh">`, which would replace it, by `about:blank` for example, where no
 * interception stops it.
 */
function mayRefresh(html: string): boolean {
  return /http-equiv(?!\s*=\s*["']?(?:content-|x-ua-))/i.test(html);
}

/** Whether a document may name a file that is not in itself, as a `data:` URL is. */
function mayNameFile(html: string): boolean {
  return /\bsrc(?:set)?\s*=\s*(?!["']?data:)|<link\b|\burl\(\s*(?!["']?data:)|<image\b/i.test(html);
}

/** A URL as the document wrote it, if relative; without credentials and query, which may be secret. */
function nameOf(url: string): string {
  const path = pathOf(url);
  if (path !== undefined) return path;
  if (!URL.canParse(url)) return '';
  const { host, pathname, protocol } = new URL(url);
  return protocol === 'data:' ? 'data:' : `${protocol}//${host}${pathname}`;
}

/** Replaces the content of a page, and waits until it is loaded, with its images. */
async function setContent({ frameId, session }: EmptyPage, html: string): Promise<void> {
  const { promise: loaded, resolve } = Promise.withResolvers<unknown>();
  session.once('Page.loadEventFired', resolve);
  await session.send('Page.setDocumentContent', { frameId, html });
  await loaded;
}

/** Answers the requests of a document: images that the host provides. */
async function answer(route: Route, assets: DocumentSource['assets']): Promise<void> {
  const request = route.request();
  try {
    // Of a frame, it is `document`.
    const path = request.resourceType() === 'image' ? pathOf(request.url()) : undefined;
    const asset = path === undefined ? undefined : await assets?.(path);
    // `aborted` leaves the document as it is, which a frame, a refresh or a redirect would replace.
    if (!asset || !asset.type.startsWith('image/')) await route.abort('aborted');
    else await route.fulfill({ contentType: asset.type, body: Buffer.from(asset.data) });
  } catch {
    // The page was closed, or the host's `assets` failed: the image is missing.
    await route.abort('failed').catch(() => {});
  }
}

function pathOf(url: string): string | undefined {
  return url.startsWith(DOCUMENT_URL) ? decodePath(new URL(url).pathname.slice(1)) : undefined;
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
