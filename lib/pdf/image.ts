import { Readable } from 'node:stream';

import type { ServiceResponse } from './attempt.ts';
import { lengthOf, limitedBody, readExcerpt } from './body.ts';
import { responseError } from './attempt.ts';
import { PdfError } from './error.ts';
import type { PdfRenderOptions } from './options.ts';
import type { AnswerReader } from './perform.ts';

/** The image of a page. */
export interface PdfImage {
  /** The file: a complete PNG or JPEG. */
  readonly data: Uint8Array;
  readonly contentType: 'image/png' | 'image/jpeg';
}

/** The image of a page as a stream. */
export interface PdfImageStream {
  /** Read it to its end, or destroy it. */
  readonly stream: Readable;
  readonly contentType: 'image/png' | 'image/jpeg';
  /** In bytes; `undefined` when the service does not send it. */
  readonly contentLength: number | undefined;
}

type Format = PdfRenderOptions['format'];

/** A reader that resolves to the complete image. */
export function imageReader(format: Format): AnswerReader<PdfImage> {
  return async function readImage(answer) {
    const contentType = await readContentType(answer, format);
    return { data: Buffer.concat(await Array.fromAsync(checkedImage(answer, contentType))), contentType };
  };
}

/** A reader that resolves to a stream of the image. */
export function imageStreamReader(format: Format): AnswerReader<PdfImageStream> {
  return async function openImage(answer) {
    const contentType = await readContentType(answer, format);
    const stream = Readable.from(withAttempts(checkedImage(answer, contentType), answer.attempt), {
      objectMode: false,
    });
    // Destroying a stream that was not read yet does not end the loop over the body, so the connection is closed here.
    stream.once('close', () => answer.close());
    return { stream, contentType, contentLength: lengthOf(answer) };
  };
}

async function readContentType(answer: ServiceResponse, format: Format): Promise<PdfImage['contentType']> {
  const contentType = answer.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (contentType === 'image/png' && format !== 'jpg') return contentType;
  if (contentType === 'image/jpeg' && format !== 'png') return contentType;
  const body = await readExcerpt(answer);
  if (body.byteLength === 0) throw responseError(answer, 'is empty');
  throw responseError(
    answer,
    format === undefined ? 'is not a PNG or JPEG image' : `is not a ${format} image`,
    body,
  );
}

/** Sets `attempts` of an error that is thrown after the call has resolved. */
async function* withAttempts(body: AsyncIterable<Uint8Array>, attempts: number): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw error instanceof PdfError ? Object.assign(error, { attempts }) : error;
  }
}

/** The first and the last bytes of each format, in hexadecimal. The last ones are missing when the connection was cut. */
const SIGNATURES = {
  'image/png': { first: '89504e470d0a1a0a', last: '0000000049454e44ae426082' },
  'image/jpeg': { first: 'ffd8ff', last: 'ffd9' },
} as const;

/** The body of an answer. Throws a `PdfError` at its end when it is not a complete image. */
async function* checkedImage(
  answer: ServiceResponse,
  contentType: PdfImage['contentType'],
): AsyncGenerator<Uint8Array> {
  let first = Buffer.alloc(0);
  let last = Buffer.alloc(0);
  for await (const chunk of limitedBody(answer)) {
    if (first.byteLength < 8) first = Buffer.concat([first, chunk.subarray(0, 8)]);
    last = Buffer.concat([last, chunk.subarray(-12)]).subarray(-12);
    yield chunk;
  }
  if (first.byteLength === 0) throw responseError(answer, 'is empty');
  const signature = SIGNATURES[contentType];
  if (!first.toString('hex').startsWith(signature.first))
    throw responseError(answer, 'does not have the image format of its Content-Type');
  if (!last.toString('hex').endsWith(signature.last)) throw responseError(answer, 'is an incomplete image');
}
