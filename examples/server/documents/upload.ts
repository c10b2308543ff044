import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import type { ExtendedFormidableOptions } from 'koa-body';

/** How large an uploaded PDF may be, in bytes. */
const LIMIT = 10 * 1024 * 1024;

/** An uploaded file. */
export interface Upload {
  readonly filepath: string;
  readonly originalFilename: string | null;
}

/** An upload that is refused. The message is shown to the user. */
export class UploadError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Receives the file of the upload form into a folder. */
export async function receiveUpload(ctx: Context, folder: string): Promise<Upload> {
  const formidable = { uploadDir: folder, maxFileSize: LIMIT, maxFields: 5, maxFieldsSize: 4096, onPart };
  const read = koaBody({ multipart: true, urlencoded: false, text: false, json: false, formidable });
  try {
    await read(ctx, async () => {});
  } catch (error) {
    // Read the rest of the body, so that the browser shows the response.
    ctx.req.resume();
    const tooLarge = error instanceof Error && 'httpCode' in error && error.httpCode === 413;
    throw tooLarge
      ? new UploadError(413, 'This file is too large: 10 MB are the most that this portal takes.')
      : new UploadError(400, 'Choose a PDF first, one that is not empty.');
  }
  const file = ctx.request.files?.['file'];
  if (file && !Array.isArray(file)) return file;
  throw new UploadError(400, 'Choose a PDF first.');
}

// Formidable has decoded the part by now. It takes the transfer encoding of a field for that of its text, and one that it does not
// know, such as 7bit, would be an unhandled rejection: the end of the process.
const onPart: NonNullable<ExtendedFormidableOptions['onPart']> = (part, handle) => {
  handle(Object.assign(part, { transferEncoding: 'utf-8' }));
};
