import type { Answer } from './attempt.ts';
import { PdfError } from './error.ts';
import type { PdfAnswer } from './error.ts';

/** The error for an answer that is not what was asked for. */
export function unusable(answer: Answer, what: string, body: Uint8Array = new Uint8Array()): PdfError {
  const { origin } = answer.call.url;
  const type = answer.headers['content-type'] ?? 'of no type';
  return new PdfError('ERR_PDF_RESPONSE', `The answer of the PDF service at ${origin} (${type}) ${what}.`, {
    answer: describe(answer, body),
  });
}

/** An answer as an error shows it: not too much of it, and without the API key if it repeats that. */
export function describe({ call, headers, status }: Answer, body: Uint8Array): PdfAnswer {
  const { apiKey } = call.settings;
  const blank = (text: string): string => (apiKey === '' ? text : text.replaceAll(apiKey, '[API key]'));
  return {
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, blank(value)])),
    // Blanked out before it is cut: a part of the key is not found any more.
    body: blank(new TextDecoder().decode(body)).slice(0, 16 * 1024),
  };
}
