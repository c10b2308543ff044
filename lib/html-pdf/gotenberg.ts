import { readOptions } from '../options/declare.ts';
import { checkKnownOptions } from '../options/known-options.ts';
import { ConfigError } from '../errors.ts';
import type { PdfClientOptions } from '../pdf/options.ts';
import { callSettings, readSettings } from '../pdf/settings.ts';
import type { HtmlPdfOptions, HtmlToPdf } from './contract.ts';
import { checkHtml, closedError } from './error.ts';
import { maxHtmlBytes as mostBytes, readDocumentSettings } from './settings.ts';

/** Options of `gotenbergHtmlToPdf()`. Those with the names of the PDF client's options mean the same. */
export interface GotenbergOptions extends Pick<
  PdfClientOptions,
  'agent' | 'headers' | 'hooks' | 'maxResponseBytes' | 'maxRetryDelay' | 'retries' | 'retryDelay' | 'timeout'
> {
  /** The address of Gotenberg, http or https; it may contain a path. */
  readonly baseUrl: string | URL;
  /** What Gotenberg's `--api-enable-basic-auth` asks for. No error and no log contains the password. @default none */
  readonly basicAuth?: { readonly username: string; readonly password: string } | undefined;
  /** The largest document, in bytes. @default 16_777_216 */
  readonly maxHtmlBytes?: number | undefined;
}

const OPTIONS: Readonly<Record<keyof GotenbergOptions, true>> = {
  baseUrl: true,
  basicAuth: true,
  maxHtmlBytes: true,
  agent: true,
  headers: true,
  hooks: true,
  maxResponseBytes: true,
  maxRetryDelay: true,
  retries: true,
  retryDelay: true,
  timeout: true,
};

/**
 * Creates a converter of HTML to PDF with a Gotenberg service (version 8 or later), which retries as the PDF client does. A
 * failed conversion rejects with a {@link PdfError}. The service decides what a document reaches: see the guide.
 *
 * @throws ConfigError for an invalid option
 *
 * @example
 * import { gotenbergHtmlToPdf } from 'koa-gatehouse/html-pdf';
 * await using pdf = gotenbergHtmlToPdf({ baseUrl: 'http://gotenberg:3000' });
 * const bytes = await pdf.convert('<h1>Enrolment</h1>', { format: 'letter' });
 */
export function gotenbergHtmlToPdf(options: GotenbergOptions): HtmlToPdf {
  const {
    basicAuth,
    maxHtmlBytes: most,
    ...clientOptions
  } = checkKnownOptions(options, OPTIONS, 'gotenbergHtmlToPdf()');
  // The PDF client would take the environment's, which is of another service.
  if (options.baseUrl === undefined) throw new ConfigError('baseUrl', 'give the address of Gotenberg');
  const { maxHtmlBytes } = readOptions({ maxHtmlBytes: mostBytes }, { maxHtmlBytes: most });
  const client = readSettings(clientOptions);
  const headers = { ...client.headers, accept: 'application/pdf', ...authorization(basicAuth) };
  const running = new Set<Promise<void>>();
  let isClosed = false;

  /** The pieces of a PDF. `whole`: all in one, which can be retried until it is complete. */
  async function* pieces(html: string, given: HtmlPdfOptions, whole: boolean): AsyncGenerator<Uint8Array> {
    const document = readDocumentSettings(given);
    checkHtml(html, maxHtmlBytes);
    if (isClosed) throw closedError();
    const { signal, timeout } = given;
    signal?.throwIfAborted();
    const end = Promise.withResolvers<void>();
    running.add(end.promise);
    try {
      // With got, which is not loaded for a browser of this machine.
      const { requestPdf } = await import('./gotenberg-request.ts');
      yield* requestPdf(html, document, { ...callSettings(client, { timeout }), headers }, whole);
    } finally {
      running.delete(end.promise);
      end.resolve();
    }
  }

  return {
    async convert(html, given = {}) {
      const all: Uint8Array[] = [];
      for await (const piece of pieces(html, given, true)) all.push(piece);
      return Buffer.concat(all);
    },
    stream: (html, given = {}) => pieces(html, given, false),
    async close() {
      isClosed = true;
      await Promise.all(running);
    },
    async [Symbol.asyncDispose]() {
      await this.close();
    },
  };
}

function authorization(basicAuth: GotenbergOptions['basicAuth']): Readonly<Record<string, string>> {
  if (basicAuth === undefined) return {};
  const { password, username } = checkKnownOptions(
    basicAuth,
    { username: true, password: true },
    'basicAuth',
  );
  if (typeof username !== 'string' || typeof password !== 'string' || username.includes(':')) {
    throw new ConfigError('basicAuth', 'give a username without a colon (RFC 7617 section 2) and a password');
  }
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}
