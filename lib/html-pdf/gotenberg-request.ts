import { responseError } from '../pdf/attempt.ts';
import type { ServiceResponse, ServiceCall } from '../pdf/attempt.ts';
import { limitedBody } from '../pdf/body.ts';
import { payloadOf } from '../pdf/payload.ts';
import type { Payload } from '../pdf/payload.ts';
import { perform } from '../pdf/perform.ts';
import type { DocumentSettings } from './options.ts';
import { headerTemplate } from './paper.ts';

/** Converts a document at Gotenberg. @param whole - whether the PDF is one piece, so that the request is retried until it is complete */
export async function* requestPdf(
  html: string,
  document: DocumentSettings,
  settings: ServiceCall['settings'] & { readonly baseUrl: string },
  whole: boolean,
): AsyncGenerator<Uint8Array> {
  const url = new URL(`${settings.baseUrl}/forms/chromium/convert/html`);
  const payload = await formOf(html, document);
  const call: ServiceCall = { settings, url, payload, streamed: !whole, signal: document.signal };
  if (whole) yield* await perform(call, async (answer) => Array.fromAsync(pdfOf(answer)));
  else yield* pdfOf(await perform(call, async (answer) => answer));
}

/** The body of an answer, which has to be a complete PDF. */
async function* pdfOf(answer: ServiceResponse): AsyncGenerator<Uint8Array> {
  try {
    if (!/^application\/pdf\b/i.test(answer.headers['content-type'] ?? ''))
      throw responseError(answer, 'is no PDF');
    let end = '';
    for await (const piece of limitedBody(answer)) {
      end = (end + Buffer.from(piece).toString('latin1')).slice(-END);
      yield piece;
    }
    // Without a length, the end of the connection does not show whether the end of the PDF is missing.
    if (!end.includes('%%EOF')) throw responseError(answer, 'is a PDF without its end');
  } finally {
    answer.close();
  }
}

/** Where readers look for the end of a PDF (ISO 32000-1, annex H.3, note 18), in bytes. */
const END = 1024;

/** The form of Gotenberg's route, as bytes that can be sent again. */
async function formOf(html: string, document: DocumentSettings): Promise<Payload> {
  const { footer, header, margin, paper } = document;
  const form = new FormData();
  const file = (name: string, text: string): void =>
    form.append('files', new File([text], name, { type: 'text/html; charset=utf-8' }));
  // The last of equal rules wins. Without this rule, Gotenberg follows the document's own size in part.
  file('index.html', `${html}<style>${pageRule(document)}</style>`);
  if (header !== undefined) file('header.html', templateDocument(header));
  if (footer !== undefined) file('footer.html', templateDocument(footer));
  const fields = {
    paperWidth: `${paper.width}in`,
    paperHeight: `${paper.height}in`,
    marginTop: `${margin.top}in`,
    marginRight: `${margin.right}in`,
    marginBottom: `${margin.bottom}in`,
    marginLeft: `${margin.left}in`,
    // The width and height are those of the paper as it lies.
    landscape: 'false',
    preferCssPageSize: 'false',
    printBackground: 'true',
    generateTaggedPdf: 'true',
    generateDocumentOutline: 'true',
  };
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  const response = new Response(form);
  return payloadOf(response.headers.get('content-type')!, new Uint8Array(await response.arrayBuffer()));
}

function templateDocument(html: string): string {
  return `<!doctype html><html><head></head><body>${headerTemplate(html)}</body></html>`;
}

/** A rule with the size of the paper and the given margins, which overrides an equal rule of the document. */
function pageRule({ givenMargins, margin, paper }: DocumentSettings): string {
  const margins = givenMargins.map((side) => ` margin-${side}: ${margin[side]}in !important;`);
  return `@page { size: ${paper.width}in ${paper.height}in !important;${margins.join('')} }`;
}
