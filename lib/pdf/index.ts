import '#runtime';

export { ConfigError, GatehouseError } from '../errors.ts';
export { PdfClient } from './client.ts';
export { PdfError } from './error.ts';
export type { PdfAnswer } from './error.ts';
export type { FormidableFile, MulterFile, PdfInput } from './input.ts';
export type { PdfImage, PdfImageStream } from './image.ts';
export type { PdfCallOptions, PdfClientOptions, PdfHooks, PdfProgress, PdfRenderOptions } from './options.ts';
export { pdfText, walkPdf } from './tree.ts';
export type { PdfDocument, PdfNode } from './tree.ts';
