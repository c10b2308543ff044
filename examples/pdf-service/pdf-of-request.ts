import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import type { ExtendedFormidableOptions } from 'koa-body';

import { fetchPdf } from './fetch-pdf.ts';
import { ServiceError, tooLarge } from './service-error.ts';
import type { Settings } from './settings.ts';

/** A received PDF: a file that exists until the request is answered. */
export interface ReceivedPdf {
  readonly path: string;
  /** The file name that the client sent. */
  readonly filename: string | null;
}

/**
 * Receives the PDF of a request and passes it to `use`: the part `file` of a form, or the PDF at the member `url` of a JSON body.
 */
export async function withPdf<T>(
  ctx: Context,
  settings: Settings,
  use: (pdf: ReceivedPdf) => Promise<T>,
): Promise<T> {
  // A folder per request, removed afterwards, so that no file of the form is left.
  const folder = await mkdtemp(join(tmpdir(), 'pdf-service-'));
  try {
    return await use(await receive(ctx, settings, folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function receive(ctx: Context, settings: Settings, folder: string): Promise<ReceivedPdf> {
  if (!ctx.is('multipart/form-data', 'application/json')) {
    throw new ServiceError(
      415,
      'content_type_unsupported',
      'Send a form with the part "file", or JSON with "url".',
    );
  }
  await readBody(ctx, settings.maxBytes, folder);
  if (ctx.is('application/json')) {
    const body: unknown = ctx.request.body;
    const url = typeof body === 'object' && body !== null && 'url' in body ? body.url : undefined;
    return { path: await fetchPdf(url, settings, folder), filename: null };
  }
  const file = ctx.request.files?.['file'];
  if (!file || Array.isArray(file)) {
    throw new ServiceError(400, 'file_missing', 'Send one PDF as the part "file" of the form.');
  }
  return { path: file.filepath, filename: file.originalFilename };
}

async function readBody(ctx: Context, maxBytes: number, uploadDir: string): Promise<void> {
  // The headers of the parts count too.
  if ((ctx.request.length ?? 0) > maxBytes + 64 * 1024) throw tooLarge(maxBytes);
  const formidable = { uploadDir, maxFileSize: maxBytes, maxFields: 10, maxFieldsSize: 64 * 1024, onPart };
  const read = koaBody({ multipart: true, urlencoded: false, text: false, jsonLimit: '16kb', formidable });
  try {
    await read(ctx, async () => {});
  } catch (error) {
    const isTooLarge =
      error instanceof Error &&
      (('httpCode' in error && error.httpCode === 413) || ('status' in error && error.status === 413));
    throw isTooLarge
      ? tooLarge(maxBytes)
      : new ServiceError(
          400,
          'body_invalid',
          'The body cannot be read: it is malformed, or the PDF is empty.',
        );
  }
}

// Formidable has decoded the part by now. It takes the transfer encoding of a field for that of its text, and one that it does not
// know, such as 7bit, would be an unhandled rejection: the end of the process.
const onPart: NonNullable<ExtendedFormidableOptions['onPart']> = (part, handle) => {
  handle(Object.assign(part, { transferEncoding: 'utf-8' }));
};
