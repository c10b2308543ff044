import { createCanvas } from '@napi-rs/canvas';
import type { PDFDocumentProxy } from 'pdfjs-dist/legacy/build/pdf.mjs';

import type { Picture } from './picture.ts';
import { ServiceError } from './service-error.ts';

/** Limits the height of a page: its proportions are arbitrary. */
const MAX_PIXELS = 40_000_000;

/** Renders one page. */
export async function render(
  pdf: PDFDocumentProxy,
  { page: number, format, quality, width }: Picture,
): Promise<Uint8Array> {
  if (number > pdf.numPages) {
    throw new ServiceError(400, 'page_missing', `There is no page ${number}: the PDF has ${pdf.numPages}.`);
  }
  const page = await pdf.getPage(number);
  const viewport = page.getViewport({ scale: width / page.getViewport({ scale: 1 }).width });
  const height = Math.max(1, Math.round(viewport.height));
  if (width * height > MAX_PIXELS) {
    throw new ServiceError(
      400,
      'picture_too_large',
      `The image would have ${width * height} pixels. Request a smaller width.`,
    );
  }
  const canvas = createCanvas(width, height);
  await page.render({ canvas: canvas as never, viewport }).promise;
  return format === 'png' ? canvas.encode('png') : canvas.encode('jpeg', quality);
}
