import type { Browser, BrowserContext, CDPSession, Route } from 'playwright-core';

import { headerTemplate } from './paper.ts';
import type { ConverterSettings, DocumentSettings } from './settings.ts';

/** The address of each document: reserved (RFC 6761), so that relative URLs have a base and lead nowhere. */
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

/** Of each piece of the PDF, in bytes. */
const PIECE = 256 * 1024;

/** Opens a context for one document, without JavaScript and network. Closing it ends whatever the document does. */
export async function openContext(
  browser: Browser,
  html: string,
  assets: ConverterSettings['assets'],
): Promise<BrowserContext> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    offline: true,
    serviceWorkers: 'block',
  });
  await context.route('**/*', async (route) => answer(route, html, assets));
  return context;
}

/** Loads the document of a context and prints it. */
export async function* printDocument(
  context: BrowserContext,
  settings: DocumentSettings,
): AsyncGenerator<Uint8Array> {
  const page = await context.newPage();
  await page.goto(DOCUMENT_URL, { waitUntil: 'load', timeout: 0 });
  const session = await context.newCDPSession(page);
  await clearPageRules(session, settings);
  yield* print(session, settings);
}

/** Answers the requests of a document: for itself, and for images that the host provides. */
async function answer(route: Route, html: string, assets: ConverterSettings['assets']): Promise<void> {
  const request = route.request();
  try {
    if (request.isNavigationRequest()) {
      // A frame, a refresh or a redirect would be another document. `aborted` leaves the first one as it is.
      const isDocument = request.url() === DOCUMENT_URL && request.frame().parentFrame() === null;
      if (!isDocument || request.redirectedFrom() !== null) await route.abort('aborted');
      else await route.fulfill({ headers: HEADERS, body: html });
      return;
    }
    const path = request.resourceType() === 'image' ? pathOf(request.url()) : undefined;
    const asset = path === undefined ? undefined : await assets?.(path);
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

/**
 * Removes from the document's own `@page` rules what the options decide: the size, the orientation and the margins that were given.
 * Chromium would follow them in part, and no rule that is added overrides all of them. The policy above allows only style
 * sheets in the document itself, which can all be changed.
 */
async function clearPageRules(session: CDPSession, { givenMargins }: DocumentSettings): Promise<void> {
  const names = ['size', 'page-orientation', ...givenMargins.map((side) => `margin-${side}`)];
  // Through the prototype, because `<img name="styleSheets">` replaces the member of the document.
  const expression = `{
    const open = Array.from(Reflect.get(Document.prototype, 'styleSheets', document));
    for (let at = 0; at < open.length; at += 1) {
      // One with an address was not loaded.
      if (open[at].href) continue;
      for (const rule of open[at].cssRules) {
        if (rule instanceof CSSPageRule) for (const name of ${JSON.stringify(names)}) rule.style.removeProperty(name);
        else if (rule.cssRules?.length > 0) open.push(rule);
      }
    }
  }`;
  const { exceptionDetails } = await session.send('Runtime.evaluate', { expression });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
}

/** Prints the page, tagged and with an outline, and reads the PDF piece by piece. */
async function* print(
  session: CDPSession,
  { footer, header, margin, paper }: DocumentSettings,
): AsyncGenerator<Uint8Array> {
  const { stream: handle } = await session.send('Page.printToPDF', {
    paperWidth: paper.width,
    paperHeight: paper.height,
    marginTop: margin.top,
    marginRight: margin.right,
    marginBottom: margin.bottom,
    marginLeft: margin.left,
    printBackground: true,
    displayHeaderFooter: header !== undefined || footer !== undefined,
    headerTemplate: headerTemplate(header),
    footerTemplate: headerTemplate(footer),
    generateTaggedPDF: true,
    generateDocumentOutline: true,
    transferMode: 'ReturnAsStream',
  });
  for (;;) {
    const { base64Encoded, data, eof } = await session.send('IO.read', { handle: handle!, size: PIECE });
    if (data !== '') yield Buffer.from(data, base64Encoded ? 'base64' : 'utf8');
    if (eof) break;
  }
}
