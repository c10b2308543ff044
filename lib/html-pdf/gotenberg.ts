import { beginStackAt, ConfigError } from '../errors.ts';
import { object, optional, pick, readOptions } from '../options/declare.ts';
import type { Check, Given } from '../options/declare.ts';
import { baseUrl, CLIENT } from '../pdf/options.ts';
import { htmlToPdf } from './contract.ts';
import type { HtmlToPdf } from './contract.ts';
import { checkHtml } from './error.ts';
import { maxHtmlBytes, readDocumentSettings } from './options.ts';
import { ConversionQueue } from './queue.ts';

const anyText: Check<string> = (place, given: unknown) => {
  if (typeof given === 'string') return given;
  throw new ConfigError(place, 'give a string');
};

const username: Check<string> = (place, given) => {
  if (!anyText(place, given).includes(':')) return given;
  throw new ConfigError(place, 'give a username without a colon (RFC 7617 section 2)');
};

const basicAuth: Check<{ readonly username: string; readonly password: string }> = object({
  username,
  password: anyText,
});

const GOTENBERG = {
  /** The address of Gotenberg, http or https; it may contain a path. */
  baseUrl,
  /**
   * The user and the password that Gotenberg's `--api-enable-basic-auth` asks for. No error and no log contains the password. @default
   * none
   */
  basicAuth: optional(basicAuth),
  /** The largest document, in bytes. @default 16_777_216 */
  maxHtmlBytes,
  ...pick(
    CLIENT,
    'agent',
    'headers',
    'hooks',
    'maxResponseBytes',
    'maxRetryDelay',
    'retries',
    'retryDelay',
    'timeout',
  ),
};

/** Options of `gotenbergHtmlToPdf()`. Options with the names of the PDF client's options mean the same as there. */
export interface GotenbergOptions extends Given<typeof GOTENBERG> {}

/**
 * Creates a converter of HTML to PDF with a Gotenberg service (version 8 or later), which retries as the PDF client does. A failed
 * conversion rejects with a `PdfError`. The service decides what a document can reach on the network: see the guide.
 *
 * @throws ConfigError for an invalid option
 *
 * @example
 * import { gotenbergHtmlToPdf } from 'koa-gatehouse/html-pdf';
 * await using pdf = gotenbergHtmlToPdf({ baseUrl: 'http://gotenberg:3000' });
 * const bytes = await pdf.convert('<h1>Enrolment</h1>', { format: 'letter' });
 */
export function gotenbergHtmlToPdf(options: GotenbergOptions): HtmlToPdf {
  const given = readOptions(GOTENBERG, options, 'gotenbergHtmlToPdf()');
  const headers = {
    ...given.headers,
    accept: 'application/pdf',
    ...(given.basicAuth && { authorization: basic(given.basicAuth) }),
  };
  // Gotenberg has a queue of its own; this one is for close().
  const running = new ConversionQueue(Infinity, 0);

  async function* print(html: string, settings: GivenDocument, whole: boolean): AsyncGenerator<Uint8Array> {
    const document = readDocumentSettings(settings);
    if (document.scale === 'fit')
      throw new ConfigError(
        'convert({ scale })',
        'Gotenberg does not measure documents; leave it out, or convert with createHtmlToPdf()',
      );
    checkHtml(html, given.maxHtmlBytes);
    const leave = await running.enter(document.signal);
    try {
      // Imported on demand, so that got is not loaded where a browser of this machine converts.
      const { requestPdf } = await import('./gotenberg-request.ts');
      const { timeout = given.timeout } = document;
      yield* requestPdf(html, document, { ...given, apiKey: '', headers, timeout }, whole);
    } finally {
      leave();
    }
  }

  return htmlToPdf(print, async () => running.close());
}
beginStackAt(gotenbergHtmlToPdf);

type GivenDocument = Parameters<typeof readDocumentSettings>[0];

function basic({
  password,
  username: user,
}: {
  readonly username: string;
  readonly password: string;
}): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
