import { PdfError } from './error.ts';
import type { PdfRenderOptions } from './options.ts';

/** The query of a render request, with the parameters that were given (spec section 4.7). */
export function renderQuery({ page, format, quality, width }: PdfRenderOptions): string {
  const query = new URLSearchParams();
  if (format !== undefined && format !== 'png' && format !== 'jpg') {
    throw new PdfError('ERR_PDF_INPUT', "The format of a picture is 'png' or 'jpg'.");
  }
  for (const [name, value] of Object.entries({ page, quality, width })) {
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new PdfError('ERR_PDF_INPUT', `The ${name} of a picture is a whole number of 1 or more.`);
    }
    query.set(name, String(value));
  }
  if (format !== undefined) query.set('format', format);
  return query.size === 0 ? '' : `?${query.toString()}`;
}
