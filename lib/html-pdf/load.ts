import type { Browser, BrowserContext, CDPSession, Request, Route } from 'playwright-core';

import type { ConverterSettings } from './settings.ts';

/** What is converted. */
export interface Source {
  readonly html: string;
  readonly assets: ConverterSettings['assets'];
}

/** The address of a document with assets: reserved (RFC 6761), so that relative URLs have a base and lead nowhere. */
const DOCUMENT_URL = 'http://document.invalid/';

/** What a document may load: images, and fonts of `data:` URLs. Its styles are in itself, see `clearPageRules()`. */
function policy(images: string): string {
  return `default-src 'none'; style-src 'unsafe-inline'; img-src ${images}; font-src data:; base-uri 'none'`;
}

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy(`data: ${DOCUMENT_URL}`),
};

/** A document with the policy alone. */
const EMPTY = `<meta http-equiv="Content-Security-Policy" content="${policy('data:')}">`;

/** Opens a context for one document, without JavaScript and network. Closing it ends whatever the document does. */
export async function openContext(browser: Browser, source: Source): Promise<BrowserContext> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    offline: true,
    serviceWorkers: 'block',
    // That of the window, see `launch()`.
    viewport: null,
  });
  await context.route('**/*', async (route) => answer(route, source));
  return context;
}

/** Loads the document of a context, and returns a session of its page. */
export async function loadDocument(context: BrowserContext, source: Source): Promise<CDPSession> {
  const page = await context.newPage();
  if (source.assets) {
    await page.goto(DOCUMENT_URL, { waitUntil: 'load', timeout: 0 });
    return context.newCDPSession(page);
  }
  const session = await context.newCDPSession(page);
  const [{ frameTree }] = await Promise.all([session.send('Page.getFrameTree'), session.send('Page.enable')]);
  // Needs less time than a navigation. The content is replaced as by document.open(), which leaves the policy in force.
  await setContent(session, frameTree.frame.id, EMPTY);
  await setContent(session, frameTree.frame.id, source.html.toWellFormed());
  return session;
}

/** Replaces the content of a page, and waits until it is loaded, with its images. */
async function setContent(session: CDPSession, frameId: string, html: string): Promise<void> {
  const { promise: loaded, resolve } = Promise.withResolvers<unknown>();
  session.once('Page.loadEventFired', resolve);
  await session.send('Page.setDocumentContent', { frameId, html });
  await loaded;
}

/** Answers the requests of a document with assets: for itself, and for images that the host provides. */
async function answer(route: Route, { assets, html }: Source): Promise<void> {
  const request = route.request();
  try {
    if (assets && isDocument(request)) {
      await route.fulfill({ headers: HEADERS, body: html });
      return;
    }
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

/** A redirect to the address, or a frame with it, would be another document. */
function isDocument(request: Request): boolean {
  return (
    request.isNavigationRequest() &&
    request.url() === DOCUMENT_URL &&
    request.frame().parentFrame() === null &&
    request.redirectedFrom() === null
  );
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
