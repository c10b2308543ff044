/**
 * A client of a PDF service: the text of a PDF as a tree, and its pages as images. It loads no code of the server.
 *
 * @module koa-gatehouse/pdf
 */
import '#runtime';

export { ConfigError, GatehouseError } from '../errors.ts';
export { PdfClient } from './client.ts';
export { PdfError } from './error.ts';
export type { PdfAnswer, PdfErrorCode } from './error.ts';
export type { FormidableFile, MulterFile, PdfInput } from './input.ts';
export type { PdfImage, PdfImageStream } from './image.ts';
export type { PdfCallOptions, PdfClientOptions, PdfHooks, PdfProgress, PdfRenderOptions } from './options.ts';
export { pdfText, walkPdf } from './tree.ts';
export type { PdfDocument, PdfNode } from './tree.ts';
