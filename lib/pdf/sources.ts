import { open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import { PdfError } from './error.ts';

/** Opens a file once for all tries, so that each try sends the same file even when another file takes its name. */
export async function openFile(path: string, filename: string | undefined): Promise<Source> {
  const handle = await openRegular(path);
  try {
    const { size, mtimeMs } = await handle.stat();
    if (size === 0) throw new PdfError('ERR_PDF_INPUT', 'The PDF is empty.');
    return {
      filename,
      size,
      repeatable: true,
      read: () => readUnchanged(handle, { path, size, mtimeMs }),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openRegular(path: string): Promise<FileHandle> {
  try {
    // Checked before it is opened, because opening a pipe waits until a process writes to it.
    const found = await stat(path);
    if (found.isFile()) return await open(path);
  } catch (cause) {
    throw new PdfError(
      'ERR_PDF_UNREADABLE',
      `The PDF at ${path} cannot be opened. Check that it exists and can be read.`,
      {
        cause,
      },
    );
  }
  throw new PdfError('ERR_PDF_UNREADABLE', `${path} is not a file, but a folder or a device.`);
}

interface File {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

async function* readUnchanged(handle: FileHandle, file: File): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < file.size;) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, file.size - position));
    const { bytesRead } = await readAt(handle, buffer, position, file.path);
    if (bytesRead === 0) throw changed(file.path);
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  // A file that changed while it was read would be sent as a mixture of old and new bytes.
  const { size, mtimeMs } = await handle.stat();
  if (size !== file.size || mtimeMs !== file.mtimeMs) throw changed(file.path);
}

async function readAt(handle: FileHandle, buffer: Buffer, position: number, path: string) {
  try {
    return await handle.read(buffer, 0, buffer.length, position);
  } catch (cause) {
    throw new PdfError('ERR_PDF_UNREADABLE', `The PDF at ${path} cannot be read completely.`, { cause });
  }
}

function changed(path: string): PdfError {
  return new PdfError('ERR_PDF_UNREADABLE', `The PDF at ${path} changed while it was sent. Send it again.`);
}

/** Bytes in memory, or a `Blob`, whose bytes may be in a file (`fs.openAsBlob`). */
export function dataSource(data: Uint8Array | Blob, filename: string | undefined): Source {
  const size = data instanceof Blob ? data.size : data.byteLength;
  if (size === 0) throw new PdfError('ERR_PDF_INPUT', 'The PDF is empty.');
  return {
    filename,
    size,
    repeatable: true,
    async *read() {
      for (let at = 0; at < size; at += CHUNK) {
        const end = at + CHUNK;
        yield data instanceof Blob ? await readSlice(data.slice(at, end)) : data.subarray(at, end);
      }
    },
    close: async () => {},
  };
}

async function readSlice(slice: Blob): Promise<Uint8Array> {
  try {
    return new Uint8Array(await slice.arrayBuffer());
  } catch (cause) {
    throw new PdfError(
      'ERR_PDF_UNREADABLE',
      'The PDF cannot be read completely. The file of the Blob may have changed.',
      { cause },
    );
  }
}

/** A stream, which can be read once. */
export function streamSource(
  stream: AsyncIterable<unknown>,
  filename: string | undefined,
  size: unknown,
): Source {
  if (size !== undefined && !(Number.isSafeInteger(size) && Number(size) > 0)) {
    throw new PdfError('ERR_PDF_INPUT', 'The size of a stream must be a whole number of bytes, at least 1.');
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
      throw new PdfError('ERR_PDF_INPUT', 'The stream does not return bytes. Do not set an encoding on it.');
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
    `The stream of the PDF is not ${expected} bytes long, as its size says.`,
  );
}

/** The bytes of a PDF. */
export interface Source {
  /** The file name that is sent to the service. */
  readonly filename: string | undefined;
  /** In bytes; `undefined` when it is not known in advance. */
  readonly size: number | undefined;
  /** Whether the bytes can be read again, for another try. */
  readonly repeatable: boolean;
  /** Reads the bytes from the beginning. Throws a `PdfError` when they cannot be read. */
  read(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** The number of bytes that are read at a time. */
const CHUNK: number = 64 * 1024;
