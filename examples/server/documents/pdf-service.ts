import { randomBytes } from 'node:crypto';

import { PdfClient } from 'koa-gatehouse/pdf';

/** The PDF service that the documents page uses. */
export interface PdfAccess {
  client(): Promise<PdfClient>;
  stop(): Promise<void>;
}

/**
 * Returns the PDF service at `PDF_BASE_URL`. Without the variable, it starts the example service when it is first needed.
 */
export function pdfAccess(environment: Readonly<Record<string, string | undefined>>): PdfAccess {
  const given = new PdfClient({ apiKey: environment['PDF_API_KEY'], retries: 1 });
  return given.configured ? { client: async () => given, stop: async () => {} } : ownService();
}

function ownService(): PdfAccess {
  // Other programs on this machine must not use this service.
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
