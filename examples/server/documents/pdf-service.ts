import { randomBytes } from 'node:crypto';

import { PdfClient } from 'koa-gatehouse/pdf';

/** The PDF service that the documents page uses. */
export interface PdfAccess {
  client(): Promise<PdfClient>;
  stop(): Promise<void>;
}

/**
 * Finds the PDF service: the one at `PDF_BASE_URL`, or else one of our own, which is started when it is first needed, so
 * that the page works at once and costs nothing before.
 */
export function pdfAccess(environment: Readonly<Record<string, string | undefined>>): PdfAccess {
  const given = new PdfClient({ apiKey: environment['PDF_API_KEY'], retries: 1 });
  return given.configured ? { client: async () => given, stop: async () => {} } : ownService();
}

function ownService(): PdfAccess {
  // Nobody else on this machine is meant to use it.
  const apiKey = randomBytes(32).toString('base64url');
  const start = async () => {
    const { startPdfService } = await import('../../pdf-service/service.ts');
    return startPdfService({ port: 0, apiKey, grace: 500 });
  };
  let starting: ReturnType<typeof start> | undefined;
  return {
    async client() {
      starting ??= start();
      return new PdfClient({ baseUrl: (await starting).url, apiKey });
    },
    async stop() {
      await (await starting)?.stop();
    },
  };
}
