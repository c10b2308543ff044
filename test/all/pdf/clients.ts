import { PdfClient, PdfError } from 'koa-gatehouse/pdf';
import type { PdfClientOptions } from '../../../lib/pdf/options.ts';

/** Bytes for a service that does not parse them. */
export const PDF: Uint8Array<ArrayBuffer> = new TextEncoder().encode('%PDF-1.7 not really one');

/** A client with short delays: with its defaults a test would wait for seconds. */
export function clientOf({ origin }: { origin: string }, options: PdfClientOptions = {}): PdfClient {
  return new PdfClient({ baseUrl: origin, retryDelay: '1 ms', timeout: '30 seconds', ...options });
}

/** The error that a call rejects with. */
export async function errorOf(call: Promise<unknown>): Promise<PdfError> {
  const error = await call.then(
    () => new Error('The call succeeded'),
    (reason: unknown) => reason,
  );
  if (error instanceof PdfError) return error;
  throw error;
}
