import type { CDPSession } from 'playwright-core';

import { loadTemplates, setContent } from './load.ts';
import type { CutWidth, DocumentSource, EmptyPage } from './load.ts';
import { headerTemplate, inchesOf, PIXELS } from './paper.ts';
import type { DocumentSettings } from './options.ts';

/** The size of each piece of the PDF, in bytes. */
const PIECE = 256 * 1024;

/** The height of the window in which a document is laid out, in CSS pixels. A low window takes less time, and nothing of it is shown. */
const HEIGHT = 100;

/** The factor by which Chromium itself makes a wide document smaller, so that it fits. A wider document is cut. */
const SHRINK = 1.5;

/** The smallest `scale` of Chromium. */
const SMALLEST_SCALE = 0.1;

/** Loads a document into an empty page and prints it. */
export async function* printDocument(
  empty: EmptyPage,
  { html, onCut, onMissing }: DocumentSource,
  settings: DocumentSettings,
): AsyncGenerator<Uint8Array> {
  const { missing, session } = empty;
  const templates = [settings.header, settings.footer].filter((template) => template !== undefined);
  if (templates.length > 0) await loadTemplates(empty, templates);
  await setWidth(session, printableWidth(settings));
  await setContent(empty, html);
  await setTitle(session);
  const ownMargins = mayHavePageRule(html) ? await readPageRules(session, settings) : {};
  const { cut, scale } = await scaleOf(session, printableWidth(settings, ownMargins), settings.scale);
  if (missing.size > 0) onMissing([...missing]);
  if (cut) onCut(cut);
  yield* read(session, await print(session, settings, scale));
}

/** The width between the margins, in CSS pixels. */
function printableWidth(
  { givenMargins, margin, paper }: DocumentSettings,
  ownMargins: Readonly<Partial<Record<string, number>>> = {},
): number {
  const of = (side: 'left' | 'right'): number =>
    givenMargins.includes(side) ? margin[side] : (ownMargins[side] ?? margin[side]);
  return (paper.width - of('left') - of('right')) * PIXELS;
}

/** Lays the document out as wide as it is printed, so that media queries load what the print needs. */
async function setWidth(session: CDPSession, width: number): Promise<void> {
  await session.send('Emulation.setDeviceMetricsOverride', {
    width: Math.max(1, Math.floor(width)),
    height: HEIGHT,
    deviceScaleFactor: 1,
    mobile: false,
  });
}

/** The scale to print with, and the widths if the document is still wider than the paper. */
async function scaleOf(
  session: CDPSession,
  printable: number,
  wanted: DocumentSettings['scale'],
): Promise<{ readonly scale: number; readonly cut?: CutWidth }> {
  const width = await widthOf(session);
  const printed = Math.floor(printable * SHRINK);
  if (width <= printed) return { scale: 1 };
  if (wanted === 'actual') return { scale: 1, cut: { width, printed } };
  const scale = Math.max(SMALLEST_SCALE, printable / width);
  await setWidth(session, printable / scale);
  const cut = { width: await widthOf(session), printed: Math.floor((printable / scale) * SHRINK) };
  return cut.width <= cut.printed ? { scale } : { scale, cut };
}

async function widthOf(session: CDPSession): Promise<number> {
  // Through the prototype, because `<img name="documentElement">` replaces the member of the document.
  const expression = `Reflect.get(Document.prototype, 'documentElement', document)?.scrollWidth ?? 0`;
  const { result } = await session.send('Runtime.evaluate', { expression, returnByValue: true });
  return Number(result.value);
}

/**
 * Whether a document may contain an `@page` rule. If not, its style sheets need not be looked at, which takes a sixth of the time of a
 * short document. The `@` may be the character itself or a character reference, which an SVG `<style>` may contain; an escaped `@` begins
 * no rule (CSS Syntax 4.3.1). A letter other than p after it begins another rule; any other character may be dropped or decoded.
 */
function mayHavePageRule(html: string): boolean {
  return /@(?![a-oq-z])|&(?:#0*64|#x0*40|commat)/i.test(html);
}

/** Sets the title of a document without one to its first heading, because Chromium would take its address, `about:blank`. */
async function setTitle(session: CDPSession): Promise<void> {
  // Through the prototypes, because `<img name="title">` replaces the member of the document.
  const expression = `{
    const { get, set } = Object.getOwnPropertyDescriptor(Document.prototype, 'title');
    if (get.call(document).trim() === '') {
      const heading = Document.prototype.querySelector.call(document, 'h1, h2, h3, h4, h5, h6');
      set.call(document, (heading && Reflect.get(Node.prototype, 'textContent', heading).trim()) || 'Document');
    }
  }`;
  await session.send('Runtime.evaluate', { expression });
}

/**
 * Removes from the document's own `@page` rules the size, the orientation and the margins that the options give. Chromium would follow
 * them in part, and no rule that is added overrides all of them. The policy allows only style sheets in the document itself, which can
 * all be changed. Returns the margins of all pages that the rules decide, in inches.
 */
async function readPageRules(
  session: CDPSession,
  { givenMargins }: DocumentSettings,
): Promise<Readonly<Record<string, number>>> {
  const names = ['size', 'page-orientation', ...givenMargins.map((side) => `margin-${side}`)];
  // Through the prototype, because `<img name="styleSheets">` replaces the member of the document.
  const expression = `{
    const margins = {};
    const open = Array.from(Reflect.get(Document.prototype, 'styleSheets', document));
    for (let at = 0; at < open.length; at += 1) {
      // One with an address was not loaded.
      if (open[at].href) continue;
      for (const rule of open[at].cssRules) {
        if (rule instanceof CSSPageRule) {
          for (const name of ${JSON.stringify(names)}) rule.style.removeProperty(name);
          if (rule.selectorText === '')
            for (const side of ['left', 'right']) margins[side] = rule.style.getPropertyValue('margin-' + side) || margins[side];
        } else if (rule.cssRules?.length > 0) open.push(rule);
      }
    }
    margins;
  }`;
  const { exceptionDetails, result } = await session.send('Runtime.evaluate', {
    expression,
    returnByValue: true,
  });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return Object.fromEntries(
    Object.entries(result.value as Record<string, string>).flatMap(([side, text]) => {
      const margin = inchesOf(text);
      return margin === undefined ? [] : [[side, margin]];
    }),
  );
}

/** Prints the page, tagged and with an outline. Resolves to the handle of the PDF. */
async function print(
  session: CDPSession,
  { footer, header, margin, paper }: DocumentSettings,
  scale: number,
): Promise<string> {
  const { stream } = await session.send('Page.printToPDF', {
    paperWidth: paper.width,
    paperHeight: paper.height,
    marginTop: margin.top,
    marginRight: margin.right,
    marginBottom: margin.bottom,
    marginLeft: margin.left,
    scale,
    printBackground: true,
    displayHeaderFooter: header !== undefined || footer !== undefined,
    headerTemplate: headerTemplate(header),
    footerTemplate: headerTemplate(footer),
    generateTaggedPDF: true,
    generateDocumentOutline: true,
    transferMode: 'ReturnAsStream',
  });
  return stream!;
}

/** Reads a PDF piece by piece. */
async function* read(session: CDPSession, handle: string): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { base64Encoded, data, eof } = await session.send('IO.read', { handle, size: PIECE });
    if (data !== '') yield Buffer.from(data, base64Encoded ? 'base64' : 'utf8');
    if (eof) break;
  }
}
