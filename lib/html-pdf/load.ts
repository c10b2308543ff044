import type { Browser, BrowserContext, CDPSession, Page, Route } from 'playwright-core';

import type { ConverterSettings } from './options.ts';

/** A document to convert. */
export interface DocumentSource {
  readonly html: string;
  /**
   * Called before the document is printed, with the files that it names and did not get, if any. An error that it throws ends the
   * conversion.
   */
  readonly onMissing: (files: readonly string[]) => void;
  /** Called before the document is printed, if it is wider than the paper. */
  readonly onCut: (width: CutWidth) => void;
}

/** The widths of a document and of the part of it that is printed, in CSS pixels. */
export interface CutWidth {
  readonly width: number;
  readonly printed: number;
}

/** The address of each document: reserved (RFC 6761), so that relative URLs have a base and lead nowhere. */
const DOCUMENT_URL = 'http://document.invalid/';

/** What a document may load: images, and fonts of `data:` URLs. Styles have to be in the document itself, see `readPageRules()`. */
const POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  `img-src data: ${DOCUMENT_URL}`,
  'font-src data:',
  "base-uri 'none'",
].join('; ');

/**
 * The response that the content of a document replaces. `sandbox`, which only a header can set, makes a document ignore `<meta
 * http-equiv="refresh">`: such a refresh would replace the document, for example by `about:blank`, where no interception stops it.
 */
const EMPTY = {
  headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': `${POLICY}; sandbox` },
  body: '<!doctype html>',
};

/** An empty page for one document. Closing its context ends whatever the document does. */
export interface EmptyPage {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly session: CDPSession;
  readonly frameId: string;
  /** The first URLs that the document names and did not get: of images, fonts, style sheets and everything else that it may not load. */
  readonly missing: ReadonlySet<string>;
}

/** How many missing files are reported, since a stranger's document may name any number. */
const MOST_MISSING = 20;

/** The name that is reported for an object, because Chromium tells only the origin of its address. */
const OBJECT = 'an object';

/**
 * Opens a page in a context of its own, without JavaScript and network, and with print styles, so that these load the files that they
 * name.
 */
export async function openPage(browser: Browser, assets: ConverterSettings['assets']): Promise<EmptyPage> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    offline: true,
    serviceWorkers: 'block',
    // The viewport is that of the window, see `NO_DISPLAY` in `browser.ts`.
    viewport: null,
  });
  try {
    await context.route('**/*', async (route) => answer(route, assets));
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    const [{ frameTree }] = await Promise.all([
      session.send('Page.getFrameTree'),
      session.send('Page.enable'),
      session.send('Audits.enable'),
      session.send('Emulation.setEmulatedMedia', { media: 'print' }),
    ]);
    const missing = new Set<string>();
    observeMissing(page, session, (file) => {
      if (missing.size < MOST_MISSING) missing.add(file);
    });
    // Answered once, because further requests for the address are not for the document.
    await page.route(DOCUMENT_URL, async (route) => route.fulfill(EMPTY), { times: 1 });
    // As with document.open(), the address and the policy of this page remain in force for the content that replaces it.
    await page.goto(DOCUMENT_URL);
    return { context, page, session, frameId: frameTree.frame.id, missing };
  } catch (error) {
    await context.close().catch(() => {});
    throw error;
  }
}

/** Reports each file that a document names and does not get. */
function observeMissing(page: Page, session: CDPSession, tell: (file: string) => void): void {
  page.on('requestfailed', (request) => tell(nameOf(request.url())));
  // The policy refuses a frame or an object without a request.
  session.on('Page.frameNavigated', ({ frame: { unreachableUrl } }) => {
    if (unreachableUrl !== undefined) tell(nameOf(unreachableUrl));
  });
  session.on('Audits.issueAdded', ({ issue }) => {
    const { blockedURL, violatedDirective } = issue.details.contentSecurityPolicyIssueDetails ?? {};
    if (violatedDirective === 'object-src') tell(OBJECT);
    else if (blockedURL !== undefined && violatedDirective !== 'frame-src') tell(nameOf(blockedURL));
  });
}

/** Replaces the content of a page, and waits until it is loaded, with its images. */
export async function setContent({ frameId, session }: EmptyPage, html: string): Promise<void> {
  const { promise: loaded, resolve } = Promise.withResolvers<unknown>();
  session.once('Page.loadEventFired', resolve);
  await session.send('Page.setDocumentContent', { frameId, html });
  await loaded;
}

/** Loads the header and the footer. They get no file at all, so that all files that they name are known to be missing. */
export async function loadTemplates(empty: EmptyPage, templates: readonly string[]): Promise<void> {
  await empty.page.route('**/*', refuse);
  await setContent(empty, templates.join(''));
  await empty.page.unroute('**/*', refuse);
}

const refuse = async (route: Route): Promise<void> => route.abort('aborted').catch(() => {});

/**
 * The name of a URL in reports: a relative URL as the document has it, any other URL without credentials and query, which may be secret.
 */
function nameOf(url: string): string {
  const path = pathOf(url);
  if (path !== undefined) return path;
  if (!URL.canParse(url)) return '';
  const { host, pathname, protocol } = new URL(url);
  return protocol === 'data:' ? 'data:' : `${protocol}//${host}${pathname}`;
}

/** Answers the requests of a document: images that the host provides. */
async function answer(route: Route, assets: ConverterSettings['assets']): Promise<void> {
  const request = route.request();
  try {
    // The type of a request by a frame is `document`.
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
