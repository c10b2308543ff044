import { PdfError } from '../error.ts';
import type { Source } from './source.ts';

/** Something that gives bytes once. */
export function streamSource(
  stream: AsyncIterable<unknown>,
  filename: string | undefined,
  size: unknown,
): Source {
  if (size !== undefined && !(Number.isSafeInteger(size) && Number(size) > 0)) {
    throw new PdfError('ERR_PDF_INPUT', 'The size of a stream is a whole number of bytes, 1 or more.');
  }
  const expected = size === undefined ? undefined : Number(size);
  return {
    filename,
    size: expected,
    repeatable: false,
    read: () => readExactly(stream, expected),
    close: async () => {},
  };
}

async function* readExactly(
  stream: AsyncIterable<unknown>,
  expected: number | undefined,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of readable(stream)) {
    if (!(chunk instanceof Uint8Array)) {
      throw new PdfError(
        'ERR_PDF_INPUT',
        'The stream gives something else than bytes. Set no encoding on it.',
      );
    }
    size += chunk.byteLength;
    if (expected !== undefined && size > expected) throw wrongSize(expected);
    yield chunk;
  }
  if (size === 0) throw new PdfError('ERR_PDF_INPUT', 'The PDF is empty.');
  if (expected !== undefined && size < expected) throw wrongSize(expected);
}

async function* readable(stream: AsyncIterable<unknown>): AsyncGenerator {
  try {
    yield* stream;
  } catch (cause) {
    throw new PdfError('ERR_PDF_UNREADABLE', 'The stream of the PDF failed before its end.', { cause });
  }
}

function wrongSize(expected: number): PdfError {
  return new PdfError(
    'ERR_PDF_UNREADABLE',
    `The stream of the PDF is not ${expected} bytes long, as announced.`,
  );
}
