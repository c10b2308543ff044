/**
 * A client of a PDF service: the text of a PDF as a tree, and its pages as images. It loads no code of the server.
 *
 * @module koa-gatehouse/pdf
 */
import '#runtime';

export { PdfClient } from './client.ts';
export { PdfError } from './error.ts';
export type { PdfInput } from './input.ts';
export type { PdfImage, PdfImageStream } from './image.ts';
export { pdfText, walkPdf } from './tree.ts';
export type { PdfDocument, PdfNode } from './tree.ts';
