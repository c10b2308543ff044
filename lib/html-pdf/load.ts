import type { Browser, BrowserContext, CDPSession, Route } from 'playwright-core';

import type { ConverterSettings } from './settings.ts';

/** What is converted. */
export interface Source {
  readonly html: string;
  readonly assets: ConverterSettings['assets'];
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

const HEADERS = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY };

/** Opens a context for one document, without JavaScript and network. Closing it ends whatever the document does. */
export async function openContext(browser: Browser, { assets }: Source): Promise<BrowserContext> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    offline: true,
    serviceWorkers: 'block',
    // That of the window, see `launch()`.
    viewport: null,
  });
  await context.route('**/*', async (route) => answer(route, assets));
  return context;
}

/** Loads the document of a context, and returns a session of its page. */
export async function loadDocument(context: BrowserContext, { assets, html }: Source): Promise<CDPSession> {
  const page = await context.newPage();
  if (assets || mayRefresh(html)) {
    // Once: a frame with the address, or a refresh, would be another document. The page may be closed meanwhile.
    const answerOnce = async (route: Route): Promise<void> =>
      route.fulfill({ headers: HEADERS, body: html }).catch(() => {});
    await page.route(DOCUMENT_URL, answerOnce, { times: 1 });
    await page.goto(DOCUMENT_URL, { waitUntil: 'load', timeout: 0 });
    return context.newCDPSession(page);
  }
  // Without a navigation, which takes a quarter of the time of a short document.
  const session = await context.newCDPSession(page);
  const [{ frameTree }] = await Promise.all([session.send('Page.getFrameTree'), session.send('Page.enable')]);
  const { id } = frameTree.frame;
  // As with document.open(), the policy of the first content remains in force for the second.
  await setContent(session, id, `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  await setContent(session, id, html.toWellFormed());
  return session;
}

/**
 * Whether a document may contain `<meta http-equiv="refresh">`, which without an address of its own could replace the document by
 * an empty one, and no interception would stop that.
 */
function mayRefresh(html: string): boolean {
  return /http-equiv(?!\s*=\s*["']?(?:content-|x-ua-))/i.test(html);
}

/** Replaces the content of a page, and waits until it is loaded, with its images. */
async function setContent(session: CDPSession, frameId: string, html: string): Promise<void> {
  const { promise: loaded, resolve } = Promise.withResolvers<unknown>();
  session.once('Page.loadEventFired', resolve);
  await session.send('Page.setDocumentContent', { frameId, html });
  await loaded;
}

/** Answers the requests of a document: images that the host provides. */
async function answer(route: Route, assets: Source['assets']): Promise<void> {
  const request = route.request();
  try {
    const isImage = !request.isNavigationRequest() && request.resourceType() === 'image';
    const path = isImage ? pathOf(request.url()) : undefined;
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
