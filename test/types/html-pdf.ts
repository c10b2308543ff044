import { createHtmlToPdf, gotenbergHtmlToPdf } from 'koa-gatehouse/html-pdf';
import type { HtmlToPdfError, HtmlToPdfEvent, HtmlToPdf, PaperFormat } from 'koa-gatehouse/html-pdf';

import { same } from './same.ts';

// Both implement one interface, so that an app can choose.
declare const service: string | undefined;
const pdf: HtmlToPdf = service === undefined ? createHtmlToPdf() : gotenbergHtmlToPdf({ baseUrl: service });

const bytes = await pdf.convert('', { format: 'a4', margin: { top: '2cm' }, timeout: '1 min' });
same<typeof bytes, Uint8Array>();
await pdf.convert('', { format: 'LETTER', margin: '0.5in', landscape: true });
// @ts-expect-error there is no such format
await pdf.convert('', { format: 'b5' });
// @ts-expect-error a length has a unit
await pdf.convert('', { margin: '2' });
// @ts-expect-error a form has no file name
await pdf.convert('', { filename: 'letter.pdf' });
// @ts-expect-error the address of the service is required
gotenbergHtmlToPdf({});

createHtmlToPdf({
  assets: (path) => (path === 'logo.png' ? { data: new Uint8Array(), type: 'image/png' } : undefined),
  onEvent(event) {
    event satisfies HtmlToPdfEvent;
    if (event.type === 'finished') event.bytes satisfies number;
  },
});
// @ts-expect-error only images
createHtmlToPdf({ assets: () => ({ data: new Uint8Array(), type: 'text/css' }) });

declare const error: HtmlToPdfError;
// @ts-expect-error there is no such code
if (error.code === 'ERR_PDF_HTTP') throw error;
'a0' satisfies PaperFormat;
