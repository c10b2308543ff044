import { Readable } from 'node:stream';

import type { Answer } from './attempt.ts';
import { collect, lengthOf, limited, readExcerpt } from './body.ts';
import { unusable } from './attempt.ts';
import { PdfError } from './error.ts';
import type { PdfRenderOptions } from './options.ts';
import type { Take } from './perform.ts';

/** A page as a picture. */
export interface PdfImage {
  /** The file: a complete PNG or JPEG. */
  readonly data: Uint8Array;
  readonly contentType: 'image/png' | 'image/jpeg';
}

/** A page as a picture that is still arriving. */
export interface PdfImageStream {
  /** Read it to its end, or destroy it. */
  readonly stream: Readable;
  readonly contentType: 'image/png' | 'image/jpeg';
  /** In bytes, when the service says so. */
  readonly contentLength: number | undefined;
}

type Format = PdfRenderOptions['format'];

/** Reads a picture as a whole. */
export function takeImage(format: Format): Take<PdfImage> {
  return async function readImage(answer) {
    const contentType = await typeOf(answer, format);
    return { data: await collect(complete(answer, contentType)), contentType };
  };
}

/** Hands a picture on. */
export function takeImageStream(format: Format): Take<PdfImageStream> {
  return async function openImage(answer) {
    const contentType = await typeOf(answer, format);
    const stream = Readable.from(counted(complete(answer, contentType), answer.attempt), {
      objectMode: false,
    });
    // Also when nobody has begun to read it.
    stream.once('close', () => answer.close());
    return { stream, contentType, contentLength: lengthOf(answer) };
  };
}

async function typeOf(answer: Answer, format: Format): Promise<PdfImage['contentType']> {
  const contentType = answer.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (contentType === 'image/png' && format !== 'jpg') return contentType;
  if (contentType === 'image/jpeg' && format !== 'png') return contentType;
  const body = await readExcerpt(answer);
  if (body.byteLength === 0) throw unusable(answer, 'is empty');
  throw unusable(
    answer,
    format === undefined ? 'is not a PNG or JPEG image' : `is not a ${format} image`,
    body,
  );
}

/** Puts the number of tries into an error that comes after the call itself is over. */
async function* counted(body: AsyncIterable<Uint8Array>, attempts: number): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw error instanceof PdfError ? Object.assign(error, { attempts }) : error;
  }
}

/** The first and the last bytes of each kind, in hexadecimal. A connection that was cut leaves the last ones out. */
const MARKS = {
  'image/png': { first: '89504e470d0a1a0a', last: '0000000049454e44ae426082' },
  'image/jpeg': { first: 'ffd8ff', last: 'ffd9' },
} as const;

/** The body of an answer, with an error at its end when it is no complete picture. */
async function* complete(answer: Answer, contentType: PdfImage['contentType']): AsyncGenerator<Uint8Array> {
  let first = Buffer.alloc(0);
  let last = Buffer.alloc(0);
  for await (const chunk of limited(answer)) {
    if (first.byteLength < 8) first = Buffer.concat([first, chunk.subarray(0, 8)]);
    last = Buffer.concat([last, chunk.subarray(-12)]).subarray(-12);
    yield chunk;
  }
  if (first.byteLength === 0) throw unusable(answer, 'is empty');
  const marks = MARKS[contentType];
  if (!first.toString('hex').startsWith(marks.first))
    throw unusable(answer, 'does not have the image format of its Content-Type');
  if (!last.toString('hex').endsWith(marks.last)) throw unusable(answer, 'is an incomplete image');
}
