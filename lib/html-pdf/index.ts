/**
 * Converts the HTML of the platform to PDF, with Chromium on this machine or with Gotenberg. It loads no code of the server.
 *
 * @module koa-gatehouse/html-pdf
 */
import '#runtime';

export { ConfigError, GatehouseError } from '../errors.ts';
export { PdfError } from '../pdf/error.ts';
export type { PdfAnswer, PdfErrorCode } from '../pdf/error.ts';
export type { PdfHooks } from '../pdf/options.ts';
export type { HtmlToPdf } from './contract.ts';
export { createHtmlToPdf } from './converter.ts';
export { HtmlPdfError } from './error.ts';
export type { HtmlPdfErrorCode } from './error.ts';
export { gotenbergHtmlToPdf } from './gotenberg.ts';
export type { GotenbergOptions } from './gotenberg.ts';
export type { Asset, BrowserEnd, HtmlPdfEvent, HtmlPdfOptions, HtmlToPdfOptions } from './options.ts';
export type { Length, Margins, PaperFormat } from './paper.ts';
