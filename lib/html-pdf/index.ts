/**
 * Converts the HTML of the platform to PDF, with Chromium on this machine or with Gotenberg. It loads no code of the server.
 *
 * @module koa-gatehouse/html-pdf
 */
import '#runtime';

export type { HtmlToPdf } from './contract.ts';
export { createHtmlToPdf } from './converter.ts';
export { HtmlToPdfError } from './error.ts';
export { gotenbergHtmlToPdf } from './gotenberg.ts';
export type { HtmlToPdfEvent, ConvertOptions } from './options.ts';
export type { PaperFormat } from './paper.ts';
