import type { CDPSession } from 'playwright-core';

import { loadDocument } from './load.ts';
import type { EmptyPage, DocumentSource } from './load.ts';
import { headerTemplate } from './paper.ts';
import type { DocumentSettings } from './options.ts';

/** Of each piece of the PDF, in bytes. */
const PIECE = 256 * 1024;

/** Loads a document into an empty page and prints it. */
export async function* printDocument(
  empty: EmptyPage,
  source: DocumentSource,
  settings: DocumentSettings,
): AsyncGenerator<Uint8Array> {
  await loadDocument(empty, source);
  const { missing, session } = empty;
  if (missing.size > 0) source.onMissing([...missing]);
  if (!hasTitle(source.html)) await setTitle(session);
  if (mayHavePageRule(source.html)) await clearPageRules(session, settings);
  yield* print(session, settings);
}

/**
 * Whether a document may contain an `@page` rule. If not, its style sheets need not be looked at, which takes a sixth of the time of
 * a short document. The `@` is itself or a character reference, which an SVG `<style>` may contain; as an escape it begins no rule
 * (CSS Syntax 4.3.1). A letter after it, unless it is a p, is that of another rule; anything else may be dropped or decoded.
 */
function mayHavePageRule(html: string): boolean {
  return /@(?![a-oq-z])|&(?:#0*64|#x0*40|commat)/i.test(html);
}

/**
 * Whether a document begins with a title of its own: an SVG image may contain another one. The tag ends before the next, so that the
 * search of a stranger's document takes no longer than its length.
 */
function hasTitle(html: string): boolean {
  return !/<svg\b/i.test(html) && /<title[^<>]*>\s*[^\s<]/i.test(html);
}

/** Gives a document without a title that of its first heading, because Chromium would take its address, `about:blank`. */
async function setTitle(session: CDPSession): Promise<void> {
  // Through the prototypes, because `<img name="title">` replaces the member of the document.
  const expression = `{
    const { get, set } = Object.getOwnPropertyDescriptor(Document.prototype, 'title');
    if (!get.call(document)) {
      const heading = Document.prototype.querySelector.call(document, 'h1, h2, h3, h4, h5, h6');
      set.call(document, (heading && Reflect.get(Node.prototype, 'textContent', heading).trim()) || 'Document');
    }
  }`;
  await session.send('Runtime.evaluate', { expression });
}

/**
 * Removes from the document's own `@page` rules what the options decide: the size, the orientation and the margins that were given.
 * Chromium would follow them in part, and no rule that is added overrides all of them. The policy allows only style sheets in
 * the document itself, which can all be changed.
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
