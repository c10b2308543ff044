import { PdfError } from 'koa-gatehouse/pdf';

import { PDF_SERVICE_COMMAND } from '../program.ts';
import { UploadError } from './upload.ts';

/** An error message for the user who uploaded a document. */
export interface Explanation {
  readonly status: number;
  readonly text: string;
  /** A command that solves the problem. */
  readonly command?: string;
}

const MESSAGES: Readonly<Record<string, string>> = {
  pdf_invalid: 'This file is not a PDF, or it is damaged. Try to open it yourself, or save it anew.',
  password_required: 'This PDF is protected by a password. Save a copy without one, and upload that.',
  too_complex: 'This PDF is too complex for the PDF service.',
  too_large: 'This file is larger than the PDF service takes.',
};

/** Returns the message for an error of the document or of the PDF service. Throws any other error again. */
export function explain(error: unknown): Explanation {
  if (error instanceof UploadError) return { status: error.status, text: error.message };
  if (!(error instanceof PdfError)) throw error;
  const text = MESSAGES[codeOf(error) ?? ''];
  if (text !== undefined) return { status: 422, text };
  if (error.response?.status === 401) {
    return {
      status: 502,
      text: 'The PDF service requires an API key. Set PDF_API_KEY to it.',
    };
  }
  if (error.code === 'ERR_PDF_CONNECTION' || error.code === 'ERR_PDF_TIMEOUT') {
    return PDF_SERVICE_COMMAND === undefined
      ? { status: 503, text: 'The PDF service at PDF_BASE_URL does not answer.' }
      : {
          status: 503,
          text: 'The PDF service does not answer. Start it in another terminal:',
          command: PDF_SERVICE_COMMAND,
        };
  }
  return { status: 502, text: 'The PDF service could not read the document. Try again in a moment.' };
}

/** The error code of the service: `{ "error": { "code" } }`. */
function codeOf({ response }: PdfError): string | undefined {
  try {
    return JSON.parse(response?.body ?? '').error.code;
  } catch {
    return undefined;
  }
}
