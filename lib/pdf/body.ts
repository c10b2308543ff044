import type { Answer } from './attempt.ts';
import { unusable } from './attempt.ts';

/** The body of an answer, up to the limit, telling who wants to know how far it is. */
export async function* limited(answer: Answer): AsyncGenerator<Uint8Array> {
  const { attempt, call } = answer;
  const { maxResponseBytes } = call.settings;
  const total = lengthOf(answer);
  let transferred = 0;
  for await (const chunk of answer.body) {
    transferred += chunk.byteLength;
    if (transferred > maxResponseBytes) {
      throw unusable(answer, `is larger than ${maxResponseBytes} bytes, which maxResponseBytes allows`);
    }
    call.onDownloadProgress?.({ transferred, total, attempt });
    yield chunk;
  }
}

/** How long the body is, in bytes, when the service says so. */
export function lengthOf({ headers }: Answer): number | undefined {
  const length = headers['content-length'];
  // Of a compressed answer the length says nothing about what comes out of it.
  return length === undefined || 'content-encoding' in headers ? undefined : Number(length);
}

/** Puts the pieces together. */
export async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

// Twice what an error shows, so that an API key at its edge is there as a whole and found.
const EXCERPT = 32 * 1024;

/** The beginning of the body, for an error: as much as arrives and is not too much. */
export async function readExcerpt({ body }: Answer): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size >= EXCERPT) break;
    }
  } catch {
    // The error that it is read for stays the same when its body is cut.
  }
  return Buffer.concat(chunks);
}
