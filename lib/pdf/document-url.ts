import { PdfError } from './error.ts';

/**
 * The URL of a PDF as it is sent to the service: https only, normalised, without a fragment.
 *
 * Which hosts may be fetched is for the service to decide, which is the one that fetches.
 */
export function documentUrl(given: unknown): string {
  const url = typeof given === 'string' || given instanceof URL ? URL.parse(String(given)) : null;
  if (!url) throw new PdfError('ERR_PDF_INPUT', 'The URL of the PDF is not a URL. Pass an absolute one.');
  if (url.protocol !== 'https:') {
    throw new PdfError('ERR_PDF_INPUT', `The URL of a PDF must be https, not ${url.protocol.slice(0, -1)}.`);
  }
  if (url.username || url.password) {
    throw new PdfError(
      'ERR_PDF_INPUT',
      'The URL of a PDF must not hold credentials. Fetch it yourself, and pass the bytes.',
    );
  }
  url.hash = '';
  return url.href;
}
