import { open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import { PdfError } from '../error.ts';
import { CHUNK } from './source.ts';
import type { Source } from './source.ts';

/** Opens a file once for all tries, so that each of them sends the same file even when its name is given to another. */
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
    // Looked at first: opening a pipe would wait until somebody writes to it.
    const found = await stat(path);
    if (found.isFile()) return await open(path);
  } catch (cause) {
    throw new PdfError('ERR_PDF_UNREADABLE', `The PDF at ${path} cannot be opened. Does it exist?`, {
      cause,
    });
  }
  throw new PdfError('ERR_PDF_UNREADABLE', `There is no file at ${path}, but a folder or a device.`);
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
  // Half of the old and half of the new file would be neither.
  const { size, mtimeMs } = await handle.stat();
  if (size !== file.size || mtimeMs !== file.mtimeMs) throw changed(file.path);
}

async function readAt(handle: FileHandle, buffer: Buffer, position: number, path: string) {
  try {
    return await handle.read(buffer, 0, buffer.length, position);
  } catch (cause) {
    throw new PdfError('ERR_PDF_UNREADABLE', `The PDF at ${path} cannot be read to its end.`, { cause });
  }
}

function changed(path: string): PdfError {
  return new PdfError('ERR_PDF_UNREADABLE', `The PDF at ${path} changed while it was sent. Send it again.`);
}
