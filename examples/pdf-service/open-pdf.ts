import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import type { PDFDocumentProxy } from 'pdfjs-dist/legacy/build/pdf.mjs';

import { ServiceError } from './service-error.ts';

const PACKAGE = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));

/** Opens a PDF. A PDF that pdf.js cannot read is answered with 422. */
export async function openPdf(path: string): Promise<PDFDocumentProxy> {
  const data = new Uint8Array(await readFile(path));
  try {
    return await getDocument({
      data,
      cMapUrl: `${PACKAGE}/cmaps/`,
      iccUrl: `${PACKAGE}/iccs/`,
      standardFontDataUrl: `${PACKAGE}/standard_fonts/`,
      wasmUrl: `${PACKAGE}/wasm/`,
      verbosity: 0,
    }).promise;
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException') {
      throw new ServiceError(422, 'password_required', 'The PDF is protected by a password.');
    }
    throw new ServiceError(422, 'pdf_invalid', 'The file is not a PDF, or it is damaged.');
  }
}
