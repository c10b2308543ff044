import { basename } from 'node:path';

import { PdfError } from './error.ts';
import { dataSource, openFile, streamSource } from './sources.ts';
import type { Source } from './sources.ts';

/**
 * A PDF to send:
 *
 * - a string: an https URL, or else the path of a file
 * - a `URL` (https): the service fetches it
 * - an uploaded file, as formidable, koa-body or multer represent it
 * - a `Blob` or `File`, or bytes such as a `Buffer`
 * - a stream, or another async iterable of bytes. It can be read only once, so a failed try is not repeated.
 * - `{ path }`, `{ url }`, `{ data }` or `{ stream }`, which name the kind of the input, with a file name
 *
 * Pass an object of your own code or of an upload parser, never a part of a request's body: a client that sends
 * `{ "path": "/etc/passwd" }` would choose the file. With `localFiles: false`, every input that names a file by its path is
 * refused.
 */
export type PdfInput =
  | string
  | URL
  | Blob
  | Uint8Array
  | AsyncIterable<Uint8Array>
  | FormidableFile
  | MulterFile
  | { readonly path: string; readonly filename?: string }
  | { readonly url: string | URL }
  | { readonly data: Uint8Array | Blob; readonly filename?: string }
  | {
      readonly stream: AsyncIterable<Uint8Array>;
      readonly filename?: string;
      /** In bytes, if known: the request then has a `Content-Length`. */
      readonly size?: number;
    };

/** A file of `ctx.request.files` (koa-body) or of formidable. */
export interface FormidableFile {
  readonly filepath: string;
  readonly originalFilename?: string | null;
}

/** A file of multer: on disk, or in memory. */
export interface MulterFile {
  readonly originalname: string;
  readonly path?: string;
  readonly buffer?: Uint8Array;
}

/** The opened input: bytes, or a URL that the service fetches. */
export type OpenedInput = { readonly source: Source } | { readonly url: string };

/** Recognizes the kind of an input and opens it. */
export async function openInput(
  input: unknown,
  options: { readonly localFiles: boolean },
): Promise<OpenedInput> {
  if (typeof input === 'string') return openString(input, options);
  if (input instanceof URL) return { url: documentUrl(input) };
  if (typeof input === 'object' && input !== null) {
    if (!options.localFiles && isNamedByPath(input)) throw new PdfError('ERR_PDF_INPUT', NO_FILES);
    const source = await openSource(input);
    if (source) return { source };
    if ('url' in input) return { url: documentUrl(input.url) };
  }
  throw new PdfError(
    'ERR_PDF_INPUT',
    Array.isArray(input)
      ? 'Several PDFs were passed, but one is expected. Pass them one by one.'
      : 'There is no PDF. Pass a path, an https URL, an uploaded file, a Blob, bytes or a stream.',
  );
}

async function openString(text: string, { localFiles }: { localFiles: boolean }): Promise<OpenedInput> {
  // Two letters or more: `C:\report.pdf` is a path.
  if (/^\s*[a-z][a-z\d+.-]+:/i.test(text)) return { url: documentUrl(text) };
  if (text !== '' && localFiles) return { source: await openFile(text, basename(text)) };
  throw new PdfError(
    'ERR_PDF_INPUT',
    'A string must be the https URL of a PDF, or the path of a file if localFiles is true.',
  );
}

const NO_FILES = 'Local files are not sent, because localFiles is false. Pass the bytes, a Blob or a stream.';

/**
 * Whether the input names a file by its path, as JSON in a request could. A stream of a file has a `path` too, but its file is
 * open already.
 */
function isNamedByPath(input: object): boolean {
  if (input instanceof Blob || input instanceof Uint8Array || isIterable(input)) return false;
  return ['path', 'filepath'].some((name) => typeof (input as Record<string, unknown>)[name] === 'string');
}

async function openSource(input: object): Promise<Source | undefined> {
  const named = 'filename' in input && typeof input.filename === 'string' ? input.filename : undefined;
  if (input instanceof Blob || input instanceof Uint8Array) return openData(input, undefined);
  if (isIterable(input)) return streamSource(input, undefined, undefined);
  if ('data' in input) return openData(input.data, named);
  if ('stream' in input && isIterable(input.stream)) {
    return streamSource(input.stream, named, 'size' in input ? input.size : undefined);
  }
  // The name of an uploaded file is the one that its sender gave; the name on the disk is random.
  if ('filepath' in input && typeof input.filepath === 'string') {
    const original = 'originalFilename' in input ? input.originalFilename : undefined;
    return openFile(input.filepath, typeof original === 'string' ? original : undefined);
  }
  const uploaded = 'originalname' in input ? String(input.originalname) : undefined;
  if ('path' in input && typeof input.path === 'string') {
    return openFile(input.path, uploaded ?? named ?? basename(input.path));
  }
  return 'buffer' in input ? openData(input.buffer, uploaded) : undefined;
}

function openData(data: unknown, filename: string | undefined): Source | undefined {
  if (data instanceof Blob) {
    return dataSource(data, filename ?? ('name' in data ? String(data.name) : undefined));
  }
  return data instanceof Uint8Array ? dataSource(data, filename) : undefined;
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/**
 * The URL of a PDF as it is sent to the service: https only, normalised, without a fragment.
 *
 * The service decides which hosts it fetches from, because it sends that request.
 */
function documentUrl(given: unknown): string {
  const url = typeof given === 'string' || given instanceof URL ? URL.parse(String(given)) : null;
  if (!url) throw new PdfError('ERR_PDF_INPUT', 'The URL of the PDF is not valid. Pass an absolute URL.');
  if (url.protocol !== 'https:') {
    throw new PdfError('ERR_PDF_INPUT', `The URL of a PDF must be https, not ${url.protocol.slice(0, -1)}.`);
  }
  if (url.username || url.password) {
    throw new PdfError(
      'ERR_PDF_INPUT',
      'The URL of a PDF must not contain credentials. Fetch it yourself, and pass the bytes.',
    );
  }
  url.hash = '';
  return url.href;
}
