import { PdfError } from '../error.ts';
import { CHUNK } from './source.ts';
import type { Source } from './source.ts';

/** Bytes that are there already. */
export function bytesSource(bytes: Uint8Array, filename: string | undefined): Source {
  return {
    ...common(bytes.byteLength, filename),
    async *read() {
      for (let at = 0; at < bytes.byteLength; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
    },
  };
}

/** A `Blob`, which may stand for a file (`fs.openAsBlob`). */
export function blobSource(blob: Blob, filename: string | undefined): Source {
  return {
    ...common(blob.size, filename),
    async *read() {
      for (let at = 0; at < blob.size; at += CHUNK) yield await readSlice(blob.slice(at, at + CHUNK));
    },
  };
}

function common(size: number, filename: string | undefined): Omit<Source, 'read'> {
  if (size === 0) throw new PdfError('ERR_PDF_INPUT', 'The PDF is empty.');
  return { filename, size, repeatable: true, close: async () => {} };
}

async function readSlice(slice: Blob): Promise<Uint8Array> {
  try {
    return new Uint8Array(await slice.arrayBuffer());
  } catch (cause) {
    throw new PdfError(
      'ERR_PDF_UNREADABLE',
      'The PDF cannot be read to its end. Has the file behind the Blob changed?',
      { cause },
    );
  }
}
